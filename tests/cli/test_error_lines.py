"""Errors in a terminal: a short line, and a file with the whole text; no control sequence reaches the
terminal.
"""

import io
import logging
import re
import tempfile
from pathlib import Path

import pytest
from builders import placement, record, trial_spec
from commands_fuzzed import BASE
from rich.console import Console
from session_cache import cache  # noqa: F401  a fixture

from orchestrator.analysis.table import Column, Table
from orchestrator.cli import main
from orchestrator.commands.command_line import DONE, WRONG_REQUEST
from orchestrator.core.placement import Attempt, Plan
from orchestrator.core.result import Failure
from orchestrator.terminal.error_line import error_line
from orchestrator.terminal.live_view import watching
from orchestrator.terminal.printing import print_table

ESCAPE = "\x1b[2J\x9b1m\x07"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in one folder, and have the files of long errors in another."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "errors"


def complaint_of(word: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["plan", *BASE, word]) == WRONG_REQUEST
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_long_error_is_a_short_line_and_a_file(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint_of("workload=" + "x" * 3000 + "end", capsys)
    found = re.fullmatch(r"error: unknown workload 'x+ … \(all of it: (.+)\)", line)
    assert found, line
    assert len(line) == 300
    file = Path(found[1])
    assert [file] == list(temporary.iterdir())
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", [["run"], ["plan"], ["predict"], ["run", "--json"]])
def test_a_device_name_of_nearly_20_000_letters_is_cut_in_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["workload=mnist_cnn"] if "predict" in command else ["+sweep=smoke"]
    assert main([*command, *words, "device=" + "x" * 19_900]) == WRONG_REQUEST
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"error: unknown device 'x+ … \(all of it: .+\)", line)
    assert len(line) <= 303


def test_a_device_name_of_20_000_letters_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint_of("device=" + "x" * 20_000, capsys)
    assert line.startswith("error: 'device=xxxx")
    assert "has 20,007 characters" in line
    assert len(line) < 200


def test_the_files_of_old_errors_are_removed(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    lines = [error_line(f"{number} {'x' * 3000}") for number in range(25)]
    kept = [Path(line.partition("all of it: ")[2].rstrip(")")) for line in lines]
    assert {file.name for file in temporary.iterdir()} == {file.name for file in kept[-20:]}
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_file_of_a_long_error_has_no_secret(temporary: Path) -> None:
    error_line(f"cannot reach http://me:hunter2@host/x?token=hunter2 {'x' * 3000}")
    (file,) = temporary.iterdir()
    assert file.read_text().startswith("cannot reach http://host/x?… xxx")


def test_the_file_has_what_the_line_has_not(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complaint_of(f"workload='nobody{ESCAPE}{'x' * 3000}'", capsys)
    (file,) = temporary.iterdir()
    text = file.read_text()
    assert text.startswith(r"unknown workload 'nobody\x1b[2J\x9b1m\x07xxx")
    assert "x" * 3000 + "'; your own: workload_path=FOLDER " in text
    assert text.endswith(", xception\n")


def test_a_short_error_needs_no_file(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint_of("seed=x", capsys) == "error: seed='x' must be a whole number"
    assert not temporary.exists()


def test_an_error_is_shown_where_no_file_can_be_made(
    temporary: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary.parent.parent / "file").write_text("")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(temporary.parent.parent / "file"))
    line = complaint_of("workload=" + "x" * 3000, capsys)
    assert line.endswith(" characters)")
    assert len(line) == 300


def test_a_warning_reaches_the_terminal_without_what_it_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    logging.root.handlers[:] = []
    assert main(["--version"]) == DONE
    logging.getLogger("anybody").warning("a\nb %s", ESCAPE)
    assert capsys.readouterr().err == "WARNING: a\nb \\x1b[2J\\x9b1m\\x07\n"


def test_a_failure_reaches_a_pipe_without_what_a_terminal_obeys() -> None:
    line = line_of_failure(f"RuntimeError: {ESCAPE}")
    assert r"error: RuntimeError: \x1b[2J\x9b1m\x07  [1 of 1 done" in line


def test_a_long_failure_is_cut_and_shows_where_all_of_it_is() -> None:
    line = line_of_failure("RuntimeError: " + "x" * 1000)
    assert re.search(r"xxx … \(all of it: outputs/smoke/records\.jsonl\)  \[1 of 1 done: 1 failed\]$", line)
    assert len(re.sub(r"^.*?error: |  \[1 of.*", "", line)) <= 300


def line_of_failure(message: str) -> str:
    """Return the line about a trial that fails with that message, without a live view."""
    console = Console(file=io.StringIO(), width=160)
    place = placement(trial_spec())
    plan = Plan(sweep="smoke", placements=(place,), cached=(), skipped=())
    ledger = "outputs/smoke/records.jsonl"
    with watching(console, plan, folder=Path("outputs/smoke"), ledger=ledger) as watcher:
        watcher.started(Attempt(placement=place, number=1))
        watcher.ended(record(placement=place, failure=Failure(kind="error", message=message)))
    (line,) = console.file.getvalue().splitlines()
    return str(line)


def test_a_table_reaches_a_terminal_without_what_it_obeys() -> None:
    console = Console(file=io.StringIO(), width=160)
    columns = (Column(header=f"head{ESCAPE}"), Column(header="other"))
    print_table(console, Table(title=ESCAPE, note=ESCAPE, columns=columns, rows=((ESCAPE, ESCAPE),)))
    assert not set(console.file.getvalue()) & set(ESCAPE) - set("[2J1m")
