"""A tracking server that was away: the sweep does not mind, and `sync` sends what it missed."""

import pytest
from cli_process import NOOP, ask, records_in

AWAY = "tracking.uri=http://someone:hunter2@127.0.0.1:1"
SHOWN = "MLflow: mlflow ui --workers 1 --backend-store-uri sqlite:///mlflow.db"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A working directory with a finished sweep, and what its command said: nobody answered at port 1."""
    folder = tmp_path_factory.mktemp("swept")
    return folder, ask(*NOOP, "tracking=mlflow", AWAY, cwd=folder)


@pytest.mark.more
def test_a_sweep_without_its_tracking_server_is_done_and_shows_it(swept):
    folder, told = swept
    assert told.code == 0
    assert "WARNING: MLflow at http://127.0.0.1:1 failed" in told.err
    assert "#/experiments/" not in told.out
    assert len(records_in(folder)) == 1


def test_sync_fails_while_the_server_is_away(swept):
    told = ask("sync", *NOOP, "tracking=mlflow", AWAY, cwd=swept[0])
    assert told.code == 2
    assert told.err.splitlines()[-1] == (
        "error: 1 record could not be sent; sync again when the server answers"
    )


def test_sync_sends_each_record_once(swept):
    folder, _ = swept
    for sent in ("1 record", "0 records"):
        told = ask("sync", *NOOP, "tracking=mlflow", cwd=folder)
        assert told.out.splitlines()[:2] == [f"{sent} sent to sqlite:///mlflow.db", SHOWN]
        assert (told.code, told.err) == (0, "")


def test_a_report_is_shown_in_mlflow_too(swept):
    folder, _ = swept
    told = ask("report", *NOOP, "tracking=mlflow", cwd=folder)
    assert (told.code, told.err) == (0, "")
    assert SHOWN in told.out.splitlines()
    page = (folder / "outputs" / "smoke" / "report.html").read_bytes()
    assert [path.read_bytes() for path in (folder / "mlruns").rglob("report.html")] == [page]


def test_no_password_is_shown_or_kept(swept):
    folder, told = swept
    again = ask("sync", *NOOP, "tracking=mlflow", AWAY, cwd=folder)
    assert "hunter2" not in told.out + told.err + again.out + again.err
    kept = [path for path in (folder / "outputs").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"hunter2" in path.read_bytes() for path in kept)
