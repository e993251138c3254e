"""Where to see a sweep in MLflow."""

import pytest

from orchestrator.record.tracking.page import page_line

PAGE = "/#/experiments/3/runs?workflowType=machine_learning"
LOCAL = f"then http://127.0.0.1:5000{PAGE}"


@pytest.mark.parametrize(
    ("uri", "line"),
    [
        ("http://127.0.0.1:8080", f"MLflow: http://127.0.0.1:8080{PAGE}"),
        ("https://me:hunter2@host/mlflow/", f"MLflow: https://host/mlflow{PAGE}"),
        ("sqlite:///mlflow.db", f"MLflow: mlflow ui --backend-store-uri sqlite:///mlflow.db, {LOCAL}"),
        ("sqlite:////a b/m.db", f"MLflow: mlflow ui --backend-store-uri 'sqlite:////a b/m.db', {LOCAL}"),
    ],
)
def test_a_server_has_an_address_and_a_database_a_command(uri, line):
    assert page_line(uri, experiment_id="3") == line
