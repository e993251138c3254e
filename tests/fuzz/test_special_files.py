"""A pipe, an endless device or a folder in the place of a file: one line, and no waiting."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from cli_process import NOOP, Answer, ask
from commands_fuzzed import BASE, planned
from hostile_values import is_one_line, within
from session_cache import cache  # noqa: F401  a fixture

from orchestrator.commands.command_line import WRONG_REQUEST
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.execute.scheduling.stop import StopSignals, request
from orchestrator.extensions.cluster_files.commands import load_text
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.record.ledger import Ledger, read_ledgers

_SECONDS = 10


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


KINDS = {"pipe": pipe, "device": device, "folder": folder}
every_kind = pytest.mark.parametrize(("kind", "make"), list(KINDS.items()), ids=list(KINDS))
Make = Callable[[Path], None]


def cause(kind: str) -> str:
    return "Is a directory" if kind == "folder" else f"it is a {kind}, and no regular file"


def refusal(told: Answer) -> str:
    """The one line that a command ended with."""
    assert told.code == 2
    (line,) = told.err.splitlines()
    assert line.startswith("error: ")
    assert is_one_line(line)
    return line


def in_place(tmp_path: Path, name: str, make: Make) -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    return path


@every_kind
@pytest.mark.parametrize("name", ["records.jsonl", "journal.jsonl"])
def test_records_that_are_no_file_are_refused(tmp_path: Path, name: str, kind: str, make: Make) -> None:
    path = in_place(tmp_path, f"outputs/smoke/{name}", make)
    told = ask(*NOOP, cwd=tmp_path, seconds=10 * _SECONDS)
    assert refusal(told) == f"error: {path} cannot be read: {cause(kind)}"


@every_kind
def test_a_plan_is_not_made_without_the_ledger_of_its_sweep(tmp_path: Path, kind: str, make: Make) -> None:
    in_place(tmp_path, "outputs/smoke/records.jsonl", make)
    assert planned(BASE, folder=tmp_path) == WRONG_REQUEST


@every_kind
@pytest.mark.parametrize("name", ["driver.lock", "records.reserve"])
def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, name: str, kind: str, make: Make) -> None:
    path = in_place(tmp_path, f"outputs/smoke/{name}", make)
    with (
        within(_SECONDS),
        pytest.raises(RecordError) as refused,
        Ledger(path.with_name("records.jsonl")).lock(),
    ):
        pass
    assert str(refused.value) == (
        f"records of sweep 'smoke' cannot be kept in {str(path.parent)!r}: {cause(kind)}; "
        "run where that folder can be written"
    )
    assert Ledger(path.with_name("records.jsonl")).holder() is None


@every_kind
def test_the_ledger_of_another_sweep_that_is_no_file_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, make: Make
) -> None:
    path = in_place(tmp_path, "outputs/other/records.jsonl", make)
    with within(_SECONDS):
        assert read_ledgers(tmp_path / "outputs", sweep="smoke") == {}
    assert f"{path} cannot be read: {cause(kind)}; sweep 'other' is left out" in caplog.text


@every_kind
def test_a_request_to_halt_that_is_no_file_is_removed_or_refused(
    tmp_path: Path, kind: str, make: Make
) -> None:
    path = in_place(tmp_path, "halt", make)
    refused = pytest.raises(RecordError, match="cannot be removed: Is a directory; remove it by hand")
    stop_signals = StopSignals(tmp_path, on_message=print)
    with within(_SECONDS), refused if kind == "folder" else nullcontext(), stop_signals.accepting_requests():
        assert not path.exists()
        make(path)
        assert stop_signals.requested() is None


@every_kind
def test_a_request_replaces_a_pipe_and_not_a_folder(tmp_path: Path, kind: str, make: Make) -> None:
    path = in_place(tmp_path, "halt", make)
    refused = pytest.raises(RecordError, match="cannot be written: Is a directory")
    with within(_SECONDS), refused if kind == "folder" else nullcontext():
        request(tmp_path, "pause")
        assert path.read_text() == "pause"


@every_kind
@pytest.mark.parametrize("name", ["device/cpu", "prices/gcp", "sweep/smoke", "config"])
def test_a_config_file_that_is_no_file_is_refused(tmp_path: Path, name: str, kind: str, make: Make) -> None:
    in_place(tmp_path, f"conf/{name}.yaml", make)
    assert planned(BASE, folder=tmp_path) == WRONG_REQUEST


@every_kind
def test_a_file_for_a_cluster_that_is_no_file_is_refused(tmp_path: Path, kind: str, make: Make) -> None:
    path = in_place(tmp_path, "cluster.yaml", make)
    with within(_SECONDS), pytest.raises(ConfigError) as refused:
        load_text(path)
    assert str(refused.value) == f"cannot read {str(path)!r}: {cause(kind)}"


@every_kind
def test_a_table_of_latencies_that_is_no_file_is_refused(tmp_path: Path, kind: str, make: Make) -> None:
    path = in_place(tmp_path, "mine.csv", make)
    with within(_SECONDS), pytest.raises(ConfigError) as refused:
        read_latencies(tmp_path)
    assert str(refused.value) == f"cannot read {str(path)!r} as CSV: {cause(kind)}"


@every_kind
def test_a_table_of_grades_that_is_no_file_is_refused(tmp_path: Path, kind: str, make: Make) -> None:
    in_place(tmp_path, "photographs/train.csv", make)
    words = ("workload=retinopathy_cnn", "data.source=real", "data_folder=photographs")
    assert planned([*BASE, *words], folder=tmp_path) == WRONG_REQUEST
