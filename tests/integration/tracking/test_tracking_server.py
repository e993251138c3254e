"""The tracking server of `deploy/mlflow`, with a real PostgreSQL behind it and a password before it."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_process import NOOP, Answer, ask, records_in
from tracking_server import Server, postgresql, tracking_server

pytestmark = pytest.mark.more

for package, name in (("mlflow", "MLflow"), ("psycopg2", "psycopg2-binary"), ("flask_wtf", "mlflow[auth]")):
    pytest.importorskip(package, reason=f"{name} is not installed")

SWEEP = (*NOOP, "tracking=mlflow")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    programs = postgresql()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: Debian's package is postgresql")
    with tracking_server(programs, tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def swept(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A working directory with a sweep that the server was told of, and what the command said."""
    folder = tmp_path_factory.mktemp("swept")
    return folder, ask(*SWEEP, f"tracking.uri={server.uri}", cwd=folder, variables=server.variables())


def test_a_sweep_is_tracked_with_credentials_from_the_environment(server, swept):
    folder, told = swept
    assert (told.code, told.err) == (0, "")
    assert len(records_in(folder)) == 1
    again = ask("sync", *SWEEP, f"tracking.uri={server.uri}", cwd=folder, variables=server.variables())
    assert again.out.startswith("0 records sent to http://127.0.0.1:")


@pytest.mark.slow
def test_the_same_report_is_made_from_the_server_alone(server, swept, tmp_path):
    words = ("report", *SWEEP, f"tracking.uri={server.uri}")
    here = ask(*words, cwd=swept[0], variables=server.variables())
    there = ask(*words, "report.source=mlflow", cwd=tmp_path, variables=server.variables())
    assert (there.code, there.err) == (0, "")
    assert there.out == here.out
    report = Path("outputs") / "smoke" / "report.md"
    assert (tmp_path / report).read_text() == (swept[0] / report).read_text()


@pytest.mark.parametrize("path", ["/", "/api/2.0/mlflow/experiments/get?experiment_id=0"])
def test_reading_without_a_password_is_refused(server, path):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.uri}{path}", timeout=10)
    refused.value.close()
    assert refused.value.code == 401


@pytest.mark.slow
def test_a_wrong_password_loses_no_record_and_sync_sends_it_later(server, tmp_path):
    words = (*SWEEP, "sweep.name=late", f"tracking.uri={server.uri}")
    told = ask(*words, cwd=tmp_path, variables=server.variables("a wrong one"))
    assert told.code == 0
    assert "a wrong one" not in told.out + told.err
    assert f"WARNING: MLflow at {server.uri} failed: " in told.err
    sent = ask("sync", *words, cwd=tmp_path, variables=server.variables())
    first, shown, charts = sent.out.splitlines()
    assert (first, sent.err) == (f"1 record sent to {server.uri}", "")
    assert shown.startswith(f"MLflow: {server.uri}/#/experiments/")
    assert charts.endswith("&compareRunsMode=CHART")


def test_no_password_is_in_anything_that_was_written(server, swept):
    folder, told = swept
    files = [
        path for top in (folder, server.folder / "artifacts") for path in top.rglob("*") if path.is_file()
    ]
    assert {"records.jsonl", "record.json", "report.html"} <= {file.name for file in files}
    written = [file.read_bytes() for file in (*files, server.folder / "log")] + [told.out.encode()]
    assert not [secret for secret in server.secrets for item in written if secret.encode() in item]


def test_no_password_is_in_a_run(server, swept, monkeypatch):
    from mlflow import MlflowClient

    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    client = MlflowClient(server.uri)
    experiment = client.get_experiment_by_name("smoke")
    runs = client.search_runs([experiment.experiment_id])
    assert len(runs) == 2
    assert not [secret for secret in server.secrets for run in runs if secret in str(run.to_dictionary())]
