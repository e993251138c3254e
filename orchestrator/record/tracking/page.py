"""Addresses of a sweep in MLflow. Pure."""

from shlex import quote
from urllib.parse import quote as quote_in_url

from orchestrator.core.printable import without_secrets
from orchestrator.record.tracking.mlflow_client import find_database

_LOCAL = "http://127.0.0.1:5000"  # where `mlflow ui` listens

_FASTEST_FIRST = "&".join(
    f"{key}={quote_in_url(value)}"
    for key, value in {
        "workflowType": "machine_learning",  # MLflow 3 opens an experiment as one of language models
        "searchFilter": "tags.outcome = 'measured'",
        "orderByKey": "metrics.`time/samples_per_second`",
        "orderByAsc": "false",
    }.items()
)


def page_lines(uri: str, *, experiment_id: str) -> tuple[str, ...]:
    """Return the addresses of a sweep's measured trials, the fastest first: as a table and as charts.

    Before those of a database stands the command that shows it. One worker is enough for one reader; the
    four that MLflow starts did not come up within its time limit on two busy cores.
    """
    runs = f"/#/experiments/{experiment_id}/runs?{_FASTEST_FIRST}"
    charts = "&compareRunsMode=CHART"
    if find_database(uri):
        return (
            f"MLflow: mlflow ui --workers 1 --backend-store-uri {quote(uri)}",
            f"  table: {_LOCAL}{runs}",
            f"  charts: {_LOCAL}{runs}{charts}",
        )
    server = without_secrets(uri.partition("?")[0]).rstrip("/")
    return (f"MLflow: {server}{runs}", f"  charts: {server}{runs}{charts}")
