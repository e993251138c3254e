"""Check of an MLflow database for a sweep as it is, without the import of MLflow, which takes seconds."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from orchestrator.extensions.mlflow_tracking.axes import values_in
from orchestrator.extensions.mlflow_tracking.mlflow_run import build_run_key
from orchestrator.extensions.mlflow_tracking.moved_artifacts import local_folder
from orchestrator.extensions.mlflow_tracking.page import VIEW, VIEW_TAG
from orchestrator.extensions.mlflow_tracking.predicted_run import PREDICTED, build_predicted_key
from orchestrator.extensions.mlflow_tracking.summary import summarise_sweep
from orchestrator.record.tracking.tracker import JOB_METRICS, PLAN_NAME, LoggedRecord, SweepOutline

FINGERPRINT_TAG = "content_sha256"
"""Tag of a sweep's run: hash of the records and report that it shows."""

_PARENTS = """
SELECT experiments.experiment_id, runs.run_uuid, runs.status, runs.artifact_uri, content.value
FROM experiments
JOIN runs ON runs.experiment_id = experiments.experiment_id AND runs.lifecycle_stage = 'active'
JOIN tags AS role ON role.run_uuid = runs.run_uuid AND role.key = 'role' AND role.value = 'sweep'
LEFT JOIN tags AS content ON content.run_uuid = runs.run_uuid AND content.key = ?
JOIN experiment_tags AS view ON view.experiment_id = runs.experiment_id AND view.key = ? AND view.value = ?
WHERE experiments.name = ? AND experiments.lifecycle_stage = 'active'
"""

_NUM_ATTEMPTS = """
SELECT count(*) FROM runs
JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.parentRunId' AND tags.value = ?
JOIN tags AS outcome ON outcome.run_uuid = runs.run_uuid AND outcome.key = 'outcome' AND outcome.value != ?
WHERE runs.lifecycle_stage = 'active' AND runs.status != 'RUNNING'
"""


def hash_fingerprint(outline: SweepOutline, logged: Sequence[LoggedRecord], files: Iterable[Path]) -> str:
    """Hash what MLflow shows of a sweep: its attempts, predictions, numbers, axes and files of its report.

    The plan's file is left out, because it changes with the trials that the last command measured.

    Raises:
        OSError: a file cannot be read.
    """
    content = {
        "attempts": sorted(build_run_key(record) for record, _ in logged),
        "metrics": summarise_sweep(logged, planned=outline.planned) if logged else {},
        "jobs": [
            (*build_run_key(record), *map(metrics.get, JOB_METRICS))
            for record, metrics in sorted(logged, key=lambda one: build_run_key(one[0]))
        ],
        "predictions": sorted(
            (build_predicted_key(one), one.provenance, sorted(one.metrics.items()))
            for one in outline.predictions
        ),
        "goal": outline.goal,
        "axes": values_in(outline.specs),
        "planned": None if outline.planned is None else sorted(outline.planned),
        "files": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.name != PLAN_NAME
        },
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def experiment_showing(
    database: Path, fingerprint: str, *, sweep: str, num_attempts: int, files: Iterable[Path]
) -> str | None:
    """Return the id of the sweep's experiment if the database shows all of this; None: MLflow must be asked.

    Args:
        fingerprint: that of the sweep's attempts and report, as `hash_fingerprint`.
        num_attempts: attempts of which the database must have a complete run.
        files: files that must be among the artifacts, by their names.
    """
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            parents = connection.execute(_PARENTS, (FINGERPRINT_TAG, VIEW_TAG, VIEW, sweep)).fetchall()
            if len(parents) != 1:
                return None
            ((experiment_id, run_id, status, artifacts, shown),) = parents
            (num_ended,) = connection.execute(_NUM_ATTEMPTS, (run_id, PREDICTED)).fetchone()
    except sqlite3.Error:  # no such file, or another schema
        return None
    is_shown = status == "FINISHED" and shown == fingerprint and num_ended == num_attempts
    folder = local_folder(str(artifacts))
    if not is_shown or folder is None or not all((folder / path.name).is_file() for path in files):
        return None
    return str(experiment_id)
