"""Addresses of a sweep in MLflow, and the view that they open."""

import json

import pytest

from orchestrator.extensions.mlflow_tracking.page import VIEW, VIEW_TAG, page_lines
from orchestrator.record.tracking.tracker import JOB_METRICS
from orchestrator.record.tracking.units import TRACKED

PAGE = "/#/experiments/3/runs?workflowType=machine_learning&viewStateShareKey=fastest"
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


def test_the_view_of_the_address_has_measured_trials_by_rate_and_columns_of_metrics_that_exist():
    state = json.loads(json.loads(VIEW)["state"])
    assert f"mlflow.sharedViewState.{PAGE.rpartition('=')[2]}" == VIEW_TAG
    assert state["searchFilter"] == "tags.outcome = 'measured'"
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`time/samples_per_second`", False)
    known = {name for name, _ in TRACKED.values()} | set(JOB_METRICS)
    assert {column.removeprefix("metrics.").strip("`") for column in state["selectedColumns"]} <= known
