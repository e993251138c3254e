"""An MLflow database that somebody has damaged: one line says it, and the ledger has every record."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_process import NOOP, ask, records_in

pytest.importorskip("mlflow", reason="MLflow is not installed")

WORDS = tuple(word for word in NOOP if word != "tracking=none")


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracked")
    assert ask(*WORDS, cwd=folder).code == 0
    return folder


@pytest.fixture(params=["runs", "experiments", "alembic_version"])
def damaged(request: pytest.FixtureRequest, tracked: Path, tmp_path: Path) -> Path:
    """A folder in which MLflow's database lacks a table."""
    folder = shutil.copytree(tracked, tmp_path / "here")
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        database.execute(f"DROP TABLE {request.param}")
        database.commit()
    return folder


@pytest.mark.slow_cases("alembic_version", "experiments")
@pytest.mark.more
def test_a_missing_table_is_one_line_of_a_report_from_the_tracking_server(damaged: Path) -> None:
    told = ask("report", "report.source=mlflow", *WORDS, cwd=damaged)
    assert told.code == 2
    (line,) = told.err.splitlines()
    assert line.startswith(
        f"error: MLflow at sqlite:///{damaged}/mlflow.db cannot be read: MlflowException: "
    )


@pytest.mark.more
@pytest.mark.slow_cases("alembic_version", "experiments")
def test_a_missing_table_is_one_line_of_what_failed_and_one_of_what_is_lacking(damaged: Path) -> None:
    told = ask("sync", *WORDS, cwd=damaged)
    assert told.code == 2
    failed, lacking, error = told.err.splitlines()
    assert failed.startswith(f"WARNING: MLflow at sqlite:///{damaged}/mlflow.db failed: MlflowException: ")
    assert lacking.startswith("WARNING: 1 records are not in MLflow at ")
    assert error == "error: 1 record could not be sent; sync again when the server answers"
    assert len(records_in(damaged)) == 1
