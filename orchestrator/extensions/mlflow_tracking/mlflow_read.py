"""A sweep out of MLflow: its records and its plan, for who has neither its ledger nor its machine."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.core.codec import from_json
from orchestrator.core.errors import OrchestratorError, RecordError
from orchestrator.core.placement import Plan
from orchestrator.core.printable import without_secrets
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_client import (
    absolute,
    find_cause,
    find_database,
    open_client,
)
from orchestrator.extensions.mlflow_tracking.mlflow_run import RECORD_NAME
from orchestrator.extensions.mlflow_tracking.predicted_run import PREDICTED
from orchestrator.record.tracking.tracker import PLAN_NAME

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_DOWNLOADS = 8  # at a time: each waits for a file or an answer


def read_sweep(uri: str, *, sweep: str) -> tuple[tuple[TrialRecord, ...], Plan]:
    """Read the records of every attempt, the oldest first, and the plan of the sweep's last report.

    Args:
        uri: `sqlite:///<file>`, `http://…` or `https://…`; nothing is written to it, but the places of
            artifacts that were moved with it.

    Raises:
        RecordError: MLflow cannot be read, does not know the sweep or has no plan of it, or a record of a
            later version.
    """
    where = absolute(uri)
    database = find_database(where)
    if database and not database.exists():
        raise RecordError(f"no MLflow database exists at {str(database)!r}; set its path as tracking.uri")
    with _one_line_errors(where):
        client = open_client(where)
        children, parent = _list_runs(client, sweep, where=without_secrets(where))
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_DOWNLOADS) as pool:
            texts = list(pool.map(lambda run: _read_text(client, run, RECORD_NAME, Path(folder)), children))
            if not any(artifact.path == PLAN_NAME for artifact in client.list_artifacts(parent.info.run_id)):
                raise RecordError(
                    f"MLflow at {without_secrets(where)} has no {PLAN_NAME} of sweep {sweep!r}; "
                    "report it once where its ledger is"
                )
            plan = from_json(Plan, _read_text(client, parent, PLAN_NAME, Path(folder)))
    return tuple(from_json(TrialRecord, text) for text in texts), plan


def find_experiment_id(uri: str, *, sweep: str) -> str | None:
    """Return the id of a sweep's experiment; None: MLflow does not know it. Raises RecordError."""
    where = absolute(uri)
    with _one_line_errors(where):
        experiment = open_client(where).get_experiment_by_name(sweep)
    return str(experiment.experiment_id) if experiment else None


def _list_runs(client: "MlflowClient", sweep: str, *, where: str) -> tuple[list["Run"], "Run"]:
    experiment = client.get_experiment_by_name(sweep)
    runs = list(_search(client, experiment.experiment_id)) if experiment else []
    parents = [run for run in runs if run.data.tags.get("role") == "sweep"]
    if not parents:
        raise RecordError(f"MLflow at {where} has no sweep {sweep!r}")
    parent_id = parents[0].info.run_id
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent_id]
    attempts = [run for run in children if run.data.tags.get("outcome") != PREDICTED]
    return list(filter(_has_ended, attempts)), parents[0]


def _has_ended(run: "Run") -> bool:
    """Return whether a run is that of an attempt written to its end; other killed runs were given up."""
    is_pruned = run.info.status == "KILLED" and run.data.tags.get("failure_kind") == "pruned"
    return is_pruned or run.info.status in ("FINISHED", "FAILED")


def _search(client: "MlflowClient", experiment_id: str) -> Iterator["Run"]:
    token: str | None = None
    while token != "":
        page = client.search_runs(
            [experiment_id], order_by=["attributes.start_time ASC"], page_token=token, max_results=1000
        )
        yield from page
        token = page.token or ""


def _read_text(client: "MlflowClient", run: "Run", name: str, folder: Path) -> str:
    place = folder / str(run.info.run_id)
    place.mkdir()
    return Path(client.download_artifacts(run.info.run_id, name, str(place))).read_text(encoding="utf-8")


@contextmanager
def _one_line_errors(where: str) -> Iterator[None]:
    """Reduce every error of MLflow to one line."""
    try:
        yield
    except OrchestratorError:
        raise
    except Exception as error:  # its own, SQLAlchemy's, Alembic's and requests' errors
        raise RecordError(
            f"MLflow at {without_secrets(where)} cannot be read: {find_cause(error)}"
        ) from error
