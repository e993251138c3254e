"""Places that a command names for checkpoints and tracking: a wrong one is told before the first trial."""

import os
import socket
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from cli_process import NOOP, ask, records_in
from commands_fuzzed import BASE
from session_cache import cache  # noqa: F401  a fixture
from web_server import serving

from orchestrator.cli import main
from orchestrator.commands.command_line import DONE, WRONG_REQUEST

TRACKED = (*BASE, "tracking=mlflow")
POSSIBLE = "possible: sqlite:///<file>, http://…, https://…, or none: tracking=none"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no folder, and no database, however long it may be\n" * 10)
    return tmp_path


def refusal(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line with which both verbs refuse, at once and with nothing made."""
    before = sorted(Path.cwd().iterdir())
    lines = []
    for verb in ("plan", "run"):
        began = time.monotonic()
        assert main([verb, *words]) == WRONG_REQUEST
        assert time.monotonic() - began < 20
        lines += capsys.readouterr().err.splitlines()
    assert sorted(Path.cwd().iterdir()) == before
    (line,) = set(lines)
    return line


@pytest.mark.more_except("file/below", "file/far")
@pytest.mark.parametrize(
    ("place", "cause"),
    [
        ("file", "'{here}/file' is not a folder"),
        ("file/below", "'{here}/file' is not a folder"),
        ("file/far/below", "'{here}/file' is not a folder"),
        ("file://{here}/file", "'{here}/file' is not a folder"),
        ("/proc/here", "nothing can be written in '/proc': "),
        ("nothing://here", "Protocol not known: nothing"),
    ],
    ids=lambda text: text[:20],
)
def test_a_place_where_no_checkpoint_can_be_kept_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], place: str, cause: str
) -> None:
    line = refusal([*BASE, f"checkpoint.path={place.format(here=here)}"], capsys)
    assert line.startswith("error: checkpoint.path=")
    assert f" cannot be used: {cause.format(here=here)}" in line


def test_a_name_that_is_too_long_is_refused() -> None:
    assert main(["plan", *BASE, f"checkpoint.path={'x' * 300}"]) == WRONG_REQUEST


def test_a_link_that_leads_nowhere_is_no_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "link").symlink_to(here / "nowhere")
    assert f"'{here}/link' is not a folder" in refusal([*BASE, "checkpoint.path=link"], capsys)


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_of_somebody_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing can be written in '/'" in refusal([*BASE, "checkpoint.path=/here"], capsys)


@pytest.mark.parametrize("place", ["new", "new/and/below", "memory://there"])
def test_a_folder_that_can_be_made_is_taken_and_not_made_by_a_plan(here: Path, place: str) -> None:
    assert main(["plan", *BASE, f"checkpoint.path={place}"]) == DONE
    assert [path.name for path in here.iterdir()] == ["file"]


def test_checkpoints_that_are_not_asked_for_need_no_place(here: Path) -> None:
    assert main(["plan", *BASE, "checkpoint.path=file", "checkpoint.every_seconds=null"]) == DONE


@pytest.mark.more_except("file-is", "/etc")
@pytest.mark.parametrize(
    ("uri", "cause"),
    [
        ("sqlite:///file", "is not a database"),
        ("sqlite:////etc/passwd", "is not a database"),
        ("sqlite:///file/below.db", "is not a database: '{here}/file' is not a folder"),
        ("sqlite:///.", "is not understood"),
        ("sqlite:///", "is not understood"),
        ("ftp://nobody", "is not understood"),
        ("mlruns", "is not understood"),
        ("http://127.0.0.1:99999", "has no such port"),
        ("http://127.0.0.1:0", "has no such port"),
        ("http://127.0.0.1:x", "has no such port"),
        ("http://", "names no host"),
        ("https://:80", "names no host"),
        ("http://[::1", "is not understood"),
    ],
)
def test_a_tracking_server_that_can_never_answer_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], uri: str, cause: str
) -> None:
    line = refusal([*TRACKED, f"tracking.uri='{uri}'"], capsys)
    assert line.startswith("error: tracking.uri=")
    assert cause.format(here=here) in line
    assert line.endswith(f"; {POSSIBLE}")


def test_its_password_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal([*TRACKED, "tracking.uri='http://someone:hunter2@127.0.0.1:99999'"], capsys)
    assert "hunter2" not in line


def test_a_server_that_is_away_is_shown_before_the_first_trial(here: Path) -> None:
    told = ask(*NOOP, "tracking=mlflow", "tracking.uri=http://a:hunter2@127.0.0.1:1", cwd=here)
    assert told.code == DONE
    first = told.err.splitlines()[0]
    assert first == (
        "WARNING: MLflow at http://127.0.0.1:1 does not answer: Connection refused; records are kept here, "
        "and `sync` sends them; tracking=none does without"
    )
    assert len(records_in(here)) == 1


@pytest.mark.more
def test_a_silent_server_is_reported_within_seconds(caplog: pytest.LogCaptureFixture) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        began = time.monotonic()
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert main(["plan", *TRACKED, f"tracking.uri={uri}"]) == DONE
        assert time.monotonic() - began < 20
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"MLflow at {uri} does not answer: no answer within 3 s; ")


def test_a_server_is_not_asked_when_tracking_is_off(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["plan", *BASE]) == DONE
    assert not caplog.records


@pytest.mark.parametrize("uri", ["sqlite:///new.db", "sqlite:///new/folder/new.db", "sqlite:///empty.db"])
def test_a_database_that_can_be_made_is_not_made_by_a_plan(
    here: Path, caplog: pytest.LogCaptureFixture, uri: str
) -> None:
    (here / "empty.db").touch()
    assert main(["plan", *TRACKED, f"tracking.uri={uri}"]) == DONE
    assert not caplog.records
    assert sorted(path.name for path in here.iterdir()) == ["empty.db", "file"]


@pytest.mark.parametrize("files", [{"/health": b"OK"}, {}], ids=["200", "404"])
def test_a_server_that_answers_anything_answers(
    caplog: pytest.LogCaptureFixture, files: dict[str, bytes]
) -> None:
    with serving() as site:
        site.files.update(files)
        assert main(["plan", *TRACKED, f"tracking.uri={site.url}"]) == DONE
    assert [path for path, *_ in site.asked] == ["/health"]
    assert not caplog.records


def test_a_report_needs_neither(here: Path) -> None:
    words = ("checkpoint.path=file", "tracking.uri=sqlite:////etc/passwd")
    assert main(["report", *TRACKED, *words]) in (DONE, 1)
