"""An MLflow database whose folder is moved or copied: its artifacts are those that lie beside it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import record, trial_spec
from report_builders import plan_of
from sweep_outlines import outline

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient
from mlflow.tracking._tracking_service import utils

from orchestrator.core.codec import to_json
from orchestrator.core.objective import Objective
from orchestrator.extensions.mlflow_tracking.mlflow_client import open_client
from orchestrator.extensions.mlflow_tracking.mlflow_read import find_experiment_id, read_sweep
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.pipeline.tracking import logged

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)


@pytest.fixture(params=["told place", pytest.param("place by MLflow", marks=pytest.mark.more)])
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tracked sweep, also with artifacts at the place that MLflow chooses by itself."""
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "old"
    folder.mkdir()
    monkeypatch.chdir(folder)
    if request.param == "place by MLflow":
        open_client(uri_in(folder)).create_experiment("kept")
    track(folder, record())
    monkeypatch.chdir(tmp_path)
    return folder


def uri_in(folder: Path) -> str:
    return f"sqlite:///{folder}/mlflow.db"


def track(folder: Path, *records, sweep: str = "kept") -> None:
    plan = folder / "plan.json"
    plan.write_text(to_json(plan_of(records)))
    store = MlflowStore(uri_in(folder))
    store.begin(outline(sweep, *records))
    store.sync(logged(records, None, Objective()))
    store.finish([plan])
    assert store.missed == 0
    utils._artifact_repos_cache.clear()  # MLflow keeps places by run; the next command is another process


def places_in(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        query = "SELECT artifact_location FROM experiments UNION SELECT artifact_uri FROM runs"
        return {place for (place,) in connection.execute(query)}


def test_a_moved_folder_is_read_and_written_where_it_is(old: Path) -> None:
    new = old.with_name("new")
    old.rename(new)
    found, _ = read_sweep(uri_in(new), sweep="kept")
    assert found == (record(),)
    assert all(Path(place).is_relative_to(new) for place in places_in(new))
    track(new, record(), record(spec=trial_spec(seed=1)))
    assert not old.exists()
    assert len(read_sweep(uri_in(new), sweep="kept")[0]) == 2


def test_a_copy_leaves_the_first_as_it_was(old: Path) -> None:
    new = old.with_name("new")
    shutil.copytree(old, new)
    before = sorted(path.relative_to(old) for path in old.rglob("*"))
    track(new, record(), record(spec=trial_spec(seed=1)))
    assert sorted(path.relative_to(old) for path in old.rglob("*")) == before
    assert len(read_sweep(uri_in(old), sweep="kept")[0]) == 1
    assert all(Path(place).is_relative_to(old) for place in places_in(old))


def test_a_database_moved_without_its_artifacts_keeps_their_place(old: Path) -> None:
    new = old.with_name("new")
    new.mkdir()
    (new / "mlruns").mkdir()
    before = places_in(old)
    (old / "mlflow.db").rename(new / "mlflow.db")
    assert read_sweep(uri_in(new), sweep="kept")[0] == (record(),)
    assert places_in(new) == before


def test_artifacts_at_the_old_place_alone_stay_there(old: Path) -> None:
    track(old, record(), sweep="other")
    new = old.with_name("new")
    shutil.copytree(old, new, ignore=shutil.ignore_patterns("other"))
    assert read_sweep(uri_in(new), sweep="kept")[0] == (record(),)
    assert read_sweep(uri_in(new), sweep="other")[0] == (record(),)
    assert str(old / "mlruns/other") in places_in(new)


def test_a_database_that_cannot_be_written_is_left_as_it_is(old: Path) -> None:
    new = old.with_name("new")
    shutil.copytree(old, new)
    before = places_in(new)
    with closing(sqlite3.connect(new / "mlflow.db", timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert read_sweep(uri_in(new), sweep="kept")[0] == (record(),)
    assert places_in(new) == before


def test_artifacts_lie_beside_a_database_that_is_not_in_the_working_directory(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    track(old, record(), sweep="second")
    assert [*other.iterdir()] == []
    experiment_id = find_experiment_id(uri_in(old), sweep="second")
    place = MlflowClient(uri_in(old)).get_experiment(experiment_id).artifact_location
    assert Path(place).is_relative_to(old)
