"""The command `doctor` on this host, and what it says of a tracking server."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from web_server import serving

from orchestrator.cli import main


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diagnosis(capsys, *words: str) -> dict:
    main(["doctor", "--json", *words])
    return json.loads(capsys.readouterr().out)


def service(found: dict, name: str) -> dict:
    (named,) = [item for item in found["services"] if item["name"] == name]
    return named


def test_the_cpu_of_this_host_trains(capsys):
    found = diagnosis(capsys, "tracking=none")
    (torch,) = [trainer for trainer in found["trainers"] if trainer["name"] == "torch_ddp"]
    assert torch["devices"]["cpu"] == ""
    assert found["host"]["cores"] >= 1


def test_doctor_writes_no_files(capsys, working_directory):
    diagnosis(capsys)
    assert list(working_directory.iterdir()) == []


def test_a_server_that_answers_is_no_drawback(capsys):
    with serving() as site:
        site.files["/health"] = b"OK"
        assert service(diagnosis(capsys, f"tracking.uri={site.url}"), "MLflow")["failure"] is None


def test_a_server_that_does_not_answer_is_missing(capsys):
    uri = "http://user:secret@127.0.0.1:9"
    assert main(["doctor", f"tracking.uri={uri}"]) == 1
    out = capsys.readouterr().out
    assert "missing: MLflow does not answer at " in out
    assert "(ConnectionRefusedError); start it, or set tracking=none" in out
    assert "secret" not in out


@pytest.mark.parametrize("uri", ["garbage://x", "http://host:99999", "http://"])
def test_an_address_that_no_server_has_is_refused(uri, capsys):
    assert main(["doctor", f"tracking.uri='{uri}'"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: tracking.uri=")
    assert uri in line


def test_a_word_that_is_wrong_is_refused(capsys):
    assert main(["doctor", "tracking.url=x"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert main(["doctor", "--jsn"]) == 2
    assert "unknown flag of 'doctor': '--jsn'; did you mean '--json'?" in capsys.readouterr().err


@pytest.fixture
def leftovers(tmp_path, monkeypatch):
    """Ten bytes of a long error, and a folder of a killed process with 20 bytes; beside them other files."""
    temporary = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))  # a short name, as sockets need
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/errors").mkdir(parents=True)
    (tmp_path / "cache/errors/tmp1.txt").write_text("0123456789")
    (tmp_path / "cache/data").write_text("of a data set")
    (temporary / "orchestrator-dead").mkdir()
    (temporary / "orchestrator-dead/owner").touch()
    (temporary / "orchestrator-dead/log").write_text("0" * 20)
    (temporary / "orchestrator-stranger").mkdir()
    yield temporary
    shutil.rmtree(temporary)


@pytest.mark.more
def test_kept_errors_and_folders_of_killed_processes_are_shown_with_the_command_that_removes_them(
    capsys, tmp_path, leftovers
):
    main(["doctor", "tracking=none"])
    lines = capsys.readouterr().out.splitlines()
    clear = "to remove them: python -m orchestrator doctor --clear"
    assert f"errors       {tmp_path}/cache/errors, whole texts of errors: 1, 0.00 MB; {clear}" in lines, lines
    assert f"temporary    {leftovers}, folders of killed processes: 1, 0.00 MB; {clear}" in lines, lines
    left = diagnosis(capsys, "tracking=none")["leftovers"]
    assert [(item["purpose"], item["num_files"], item["size_bytes"]) for item in left] == [
        ("errors", 1, 10),
        ("temporary", 1, 20),
    ]


def test_clear_removes_only_kept_errors_and_folders_of_killed_processes(capsys, tmp_path, leftovers):
    main(["doctor", "--clear", "tracking=none"])
    lines = capsys.readouterr().out.splitlines()
    assert f"errors       {tmp_path}/cache/errors, none kept" in lines, lines
    assert not any(line.startswith("temporary") for line in lines)
    assert sorted(path.name for path in (tmp_path / "cache").rglob("*")) == ["data", "errors"]
    assert [path.name for path in leftovers.iterdir()] == ["orchestrator-stranger"]
