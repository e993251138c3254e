"""Empty MLflow databases that are kept: MLflow uses a copy as its own, and it holds nobody's rows."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import pytest
from repository import ROOT

pytest.importorskip("mlflow", reason="MLflow is not installed")

from orchestrator.extensions.mlflow_tracking import database_template
from orchestrator.extensions.mlflow_tracking.database_template import create_database
from orchestrator.extensions.mlflow_tracking.mlflow_client import open_client

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)  # MLflow puts artifacts into the working directory
    return tmp_path / "cache"


def opened(database):
    return open_client(f"sqlite:///{database}")


def schema_of(database):
    with closing(sqlite3.connect(database)) as connection:
        return set(connection.execute("SELECT type, name, sql FROM sqlite_master"))


def test_a_copy_of_the_template_is_a_database_of_mlflow(cache, tmp_path):
    first, second = tmp_path / "first/mlflow.db", tmp_path / "second/mlflow.db"
    opened(first).create_experiment("mine")
    (template,) = cache.glob("mlflow-*.db")
    before = template.stat()
    client = opened(second)
    assert schema_of(second) == schema_of(first)
    assert [one.name for one in client.search_experiments()] == ["Default"]
    (default,) = client.search_experiments()
    assert str(tmp_path / "first") not in default.artifact_location
    run = client.create_run(client.create_experiment("other"))
    client.log_param(run.info.run_id, "batch", 64)
    assert client.get_run(run.info.run_id).data.params == {"batch": "64"}
    after = template.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


@pytest.mark.more
def test_a_new_database_has_the_permissions_of_a_new_file(cache, tmp_path):
    for name in ("first.db", "second.db"):
        opened(tmp_path / name)
    (tmp_path / "file").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("first.db", "second.db", "file")}
    assert len(modes) == 1
    assert not list(tmp_path.rglob(".*"))  # nothing half made is left


def refuse(database):
    raise AssertionError(f"{database} was created by migrations")


@pytest.mark.more
def test_another_mlflow_has_another_template(cache, tmp_path, monkeypatch):
    opened(tmp_path / "mlflow.db")
    create_database(tmp_path / "same.db", cache=cache, migrate=refuse)
    assert (tmp_path / "same.db").stat().st_size > 0
    monkeypatch.setattr(database_template, "version", lambda _: "99.0")
    with pytest.raises(AssertionError, match="created by migrations"):
        create_database(tmp_path / "other.db", cache=cache, migrate=refuse)
    assert not (tmp_path / "other.db").exists()


def test_a_database_that_is_there_is_not_replaced(cache, tmp_path):
    opened(tmp_path / "mlflow.db")
    theirs = tmp_path / "theirs.db"
    theirs.write_bytes(b"theirs")
    create_database(theirs, cache=cache, migrate=refuse)
    assert theirs.read_bytes() == b"theirs"


def test_a_killed_creation_leaves_no_database_and_the_next_command_creates_it(cache, tmp_path):
    database = tmp_path / "mlflow.db"
    code = f"from orchestrator.extensions.mlflow_tracking.mlflow_client import open_client; open_client('sqlite:///{database}')"
    half_made = f".mlflow.db-{16 * '[0-9a-f]'}"  # not its journal, which comes and goes
    ours = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], env=ours, stderr=subprocess.DEVNULL) as process:
        while not any(file.stat().st_size for file in tmp_path.glob(half_made)):
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        process.kill()
    assert not database.exists()
    assert [one.name for one in opened(database).search_experiments()] == ["Default"]


@pytest.mark.more
def test_a_cache_that_cannot_be_written_costs_the_template_alone(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file, not a folder")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    assert opened(tmp_path / "mlflow.db").search_experiments()
    assert (tmp_path / "cache").is_file()
