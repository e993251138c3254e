"""A database that shows a sweep as it is is recognised; any difference sends the command to MLflow again."""

import contextlib
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from builders import record
from cli_process import NOOP, ask
from sweep_outlines import outline

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient

from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.record.tracking.tracker import Prediction

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)

METRICS = {"time/samples_per_second": 6400.0}
KEPT = [(record(), METRICS), (record(attempt=2), METRICS)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the database, artifacts and report of a finished sweep of two attempts."""
    folder = tmp_path_factory.mktemp("finished")
    report = folder / "report.html"
    report.write_text("two attempts")
    with contextlib.chdir(folder):  # MLflow puts artifacts into the working directory
        store = MlflowStore(f"sqlite:///{folder}/mlflow.db")
        store.begin(outline("swept", *(one for one, _ in KEPT)))
        store.sync(KEPT)
        store.finish([report])
    assert store.missed == 0
    return folder


@pytest.fixture
def changed(finished, tmp_path):
    """A copy of the database; its artifacts stay where they are."""
    shutil.copyfile(finished / "mlflow.db", tmp_path / "mlflow.db")
    return tmp_path / "mlflow.db"


def shows(database, finished, *, name="swept", kept=tuple(KEPT), report=None, **changes):
    store = MlflowStore(f"sqlite:///{database}")
    files = [report or finished / "report.html"]
    is_shown = store.shows(files, outline=outline(name, *(one for one, _ in kept), **changes), kept=kept)
    assert (store.experiment_id == "1") == is_shown
    return is_shown


def run_sql(database, statement):
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


def test_a_finished_sweep_is_shown(finished):
    assert shows(finished / "mlflow.db", finished)


@pytest.mark.parametrize(
    "different",
    [
        {"name": "other"},
        {"kept": tuple(KEPT[:1])},
        {"kept": (*KEPT, (record(attempt=3), METRICS))},
        {"kept": (KEPT[0], (record(attempt=2), {"time/samples_per_second": 9000.0}))},
        {"kept": (KEPT[0], (record(attempt=2), METRICS | {"time/job_seconds": 9.0}))},
        {"goal": "cheapest"},
        {"planned": frozenset({"not run yet"})},
    ],
    ids=[
        "another sweep",
        "fewer attempts",
        "more attempts",
        "other metrics",
        "another length of the job",
        "another goal",
        "another plan",
    ],
)
def test_another_sweep_is_not_shown(finished, different):
    assert not shows(finished / "mlflow.db", finished, **different)


def test_another_report_is_not_shown(finished, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("three attempts")
    assert not shows(finished / "mlflow.db", finished, report=report)


def test_a_report_that_cannot_be_read_is_not_shown(finished, tmp_path):
    assert not shows(finished / "mlflow.db", finished, report=tmp_path / "absent.html")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET status = 'RUNNING' WHERE name = 'swept'",
        "UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = "
        "(SELECT run_uuid FROM tags WHERE key = 'attempt' AND value = '2')",
        "UPDATE runs SET status = 'RUNNING' WHERE run_uuid = "
        "(SELECT run_uuid FROM tags WHERE key = 'attempt' AND value = '2')",
        "UPDATE experiments SET lifecycle_stage = 'deleted' WHERE name = 'swept'",
        "UPDATE runs SET artifact_uri = '/nowhere' WHERE name = 'swept'",
        "UPDATE runs SET artifact_uri = 's3://bucket/folder' WHERE name = 'swept'",
        "DELETE FROM tags WHERE key = 'content_sha256'",
        "DELETE FROM experiment_tags WHERE key = 'mlflow.sharedViewState.fastest'",
        "UPDATE experiment_tags SET value = '{}' WHERE key = 'mlflow.sharedViewState.fastest'",
        "ALTER TABLE runs RENAME TO attempts",
    ],
    ids=[
        "running",
        "a deleted attempt",
        "a torn attempt",
        "a deleted experiment",
        "no artifacts",
        "artifacts elsewhere",
        "no fingerprint",
        "no view",
        "an older view",
        "another schema",
    ],
)
def test_a_changed_database_is_not_shown(finished, changed, statement):
    if statement.startswith("ALTER"):
        with closing(sqlite3.connect(changed)) as connection:
            connection.execute(statement)
    else:
        run_sql(changed, statement)
    assert not shows(changed, finished)


def test_no_database_is_not_shown_and_none_is_made(finished, tmp_path):
    assert not shows(tmp_path / "mlflow.db", finished)
    assert not (tmp_path / "mlflow.db").exists()


def test_a_server_would_have_to_be_asked(finished):
    store = MlflowStore("http://127.0.0.1:1")
    assert not store.shows([finished / "report.html"], outline=outline("swept"), kept=KEPT)


def test_an_interrupted_sweep_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = tmp_path / "report.html"
    report.write_text("one attempt")
    uri, kept = f"sqlite:///{tmp_path}/mlflow.db", KEPT[:1]
    for files in ([report], []):
        store = MlflowStore(uri)
        store.begin(outline("swept", kept[0][0]))
        store.sync(kept)
        store.finish(files)
        is_shown = MlflowStore(uri).shows([report], outline=outline("swept", kept[0][0]), kept=kept)
        assert is_shown == bool(files)


def test_an_attached_report_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uri, report = f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "report.html"
    report.write_text("first")
    swept = outline("swept", KEPT[0][0])
    store = MlflowStore(uri)
    store.begin(swept)
    store.sync(KEPT[:1])
    store.finish([report])
    report.write_text("second")
    assert not MlflowStore(uri).shows([report], outline=swept, kept=KEPT[:1])
    MlflowStore(uri).attach([report], outline=swept, kept=KEPT[:1])
    assert MlflowStore(uri).shows([report], outline=swept, kept=KEPT[:1])
    (artifact,) = (tmp_path / "mlruns").rglob("report.html")
    assert artifact.read_text() == "second"


@pytest.mark.more
def test_a_finished_sweep_typed_again_imports_no_mlflow_and_a_lost_database_is_made_again(tmp_path):
    words = [word for word in NOOP if word != "tracking=none"]
    assert ask(*words, cwd=tmp_path).code == 0
    imports = {"PYTHONPROFILEIMPORTTIME": "1"}
    again = ask(*words, cwd=tmp_path, variables=imports)
    assert again.code == 0
    assert "MLflow: mlflow ui" in again.out
    imported = {line.rpartition("|")[2].strip() for line in again.err.splitlines()}
    assert "pandas" in imported
    assert not {"mlflow", "sqlalchemy"} & imported
    (tmp_path / "mlflow.db").unlink()
    assert ask(*words, cwd=tmp_path).code == 0
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    assert {run.info.status for run in client.search_runs(["1"])} == {"FINISHED"}
    assert len(client.search_runs(["1"])) == 2


def test_the_tag_is_on_the_sweeps_run_alone(finished):
    client = MlflowClient(f"sqlite:///{finished}/mlflow.db")
    tagged = [run for run in client.search_runs(["1"]) if "content_sha256" in run.data.tags]
    assert [run.info.run_name for run in tagged] == ["swept"]


def test_a_report_with_other_predictions_is_not_shown_until_it_is_attached(finished, changed):
    report, swept = finished / "report.html", outline("swept", *(one for one, _ in KEPT))
    predicted = Prediction(
        job="mnist_cnn",
        setting="t4",
        factors={"device": "t4"},
        provenance="predicted",
        metrics={"time/mfu": 1.0},
    )
    store, with_prediction = MlflowStore(f"sqlite:///{changed}"), replace(swept, predictions=(predicted,))
    assert store.shows([report], outline=swept, kept=KEPT)
    assert not store.shows([report], outline=with_prediction, kept=KEPT)
    store.attach([report], outline=with_prediction, kept=KEPT)
    assert store.shows([report], outline=with_prediction, kept=KEPT)
    assert not store.shows([report], outline=swept, kept=KEPT)
