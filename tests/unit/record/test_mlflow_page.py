"""Where to see a sweep in MLflow."""

import pytest

from orchestrator.record.tracking.page import page_lines

PAGE = (
    "/#/experiments/3/runs?workflowType=machine_learning"
    "&searchFilter=tags.outcome%20%3D%20%27measured%27"
    "&orderByKey=metrics.%60time/samples_per_second%60&orderByAsc=false"
)
CHARTS = f"{PAGE}&compareRunsMode=CHART"


@pytest.mark.parametrize(
    ("uri", "server"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://me:hunter2@host/mlflow/", "https://host/mlflow"),
        ("https://host/mlflow?token=hunter2", "https://host/mlflow"),
    ],
)
def test_a_server_has_the_addresses_of_a_table_and_of_charts(uri, server):
    assert page_lines(uri, experiment_id="3") == (f"MLflow: {server}{PAGE}", f"  charts: {server}{CHARTS}")


@pytest.mark.parametrize("uri", ["sqlite:///mlflow.db", "sqlite:////a b/m.db"])
def test_a_database_has_the_command_of_a_server_with_one_worker_before_them(uri):
    command, table, charts = page_lines(uri, experiment_id="3")
    quoted = f"'{uri}'" if " " in uri else uri
    assert command == f"MLflow: mlflow ui --workers 1 --backend-store-uri {quoted}"
    assert table == f"  table: http://127.0.0.1:5000{PAGE}"
    assert charts == f"  charts: http://127.0.0.1:5000{CHARTS}"
