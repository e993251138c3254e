"""View and addresses of a sweep in MLflow: its measured trials, the fastest first. Pure."""

import json
from shlex import quote

from orchestrator.core.printable import find_program, without_secrets
from orchestrator.extensions.mlflow_tracking.mlflow_client import find_database

_LOCAL = "http://127.0.0.1:5000"  # where `mlflow ui` listens
_PIXELS = {
    "metrics.`time/samples_per_second`": 200,
    "metrics.`time/job_seconds`": 140,
    "metrics.`cost/job_usd`": 120,
    "metrics.`cost/usd_per_million_samples`": 220,
}
_STATE = {
    "searchFilter": "tags.outcome = 'measured'",
    "orderByKey": "metrics.`time/samples_per_second`",
    "orderByAsc": False,
    "selectedColumns": list(_PIXELS),
    "columnOrder": list(_PIXELS),
    "columnWidths": _PIXELS,
}

VIEW_TAG = "mlflow.sharedViewState.fastest"
VIEW = json.dumps({"name": "Measured trials, the fastest first", "createdAt": 0, "state": json.dumps(_STATE)})
"""View of an experiment's table, as MLflow 3 keeps it in that tag: filter, order and columns."""


def page_lines(uri: str, *, experiment_id: str) -> tuple[str, ...]:
    """Return the addresses of a sweep's measured trials, the fastest first: as a table and as charts.

    Before those of a database stands the command that shows it. One worker is enough for one reader; the
    four that MLflow starts did not come up within its time limit on two busy cores.
    """
    # MLflow 3 opens an experiment as one of language models.
    runs = f"/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=fastest"
    if find_database(uri):
        return (
            f"MLflow: {find_program('mlflow')} ui --workers 1 --backend-store-uri {quote(uri)}",
            f"  table: {_LOCAL}{runs}",
            f"  charts: {_LOCAL}{runs}&compareRunsMode=CHART",
        )
    server = without_secrets(uri.partition("?")[0]).rstrip("/")
    return (f"MLflow: {server}{runs}", f"  charts: {server}{runs}&compareRunsMode=CHART")
