"""Whole numbers of more than 64 bits: refused where they are given, told where they were recorded."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from builders import placement, record, trial_spec
from commands_fuzzed import BASE
from report_builders import plan_of
from session_cache import cache  # noqa: F401  a fixture

from orchestrator.cli import main
from orchestrator.commands.command_line import DONE, WRONG_REQUEST
from orchestrator.core.objective import FASTEST
from orchestrator.core.result import TrialRecord
from orchestrator.pipeline.report import write_report
from orchestrator.record.ledger import Ledger
from orchestrator.record.ledger_lines import encode_record

LARGEST = 2**63 - 1
KEYS = (
    *(
        "steps",
        "seed",
        "num_workers",
        "num_hosts",
        "global_batch_size",
        "sweep.repeats",
        "sweep.shuffle_seed",
    ),
    *("measure.max_blocks", "measure.warmup_steps", "measure.target", "measure.steps_per_block", "retry.oom"),
    *("prices.max_age_days", "pools.max_nodes"),
)


def told(verb: str, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command refuses."""
    assert main([verb, *words]) == WRONG_REQUEST
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.slow_cases(
    "warmup_steps", "retry.oom", "shuffle_seed", "max_age_days", "steps_per_block", "max_blocks"
)
@pytest.mark.more_except("num_workers", "num_hosts")
@pytest.mark.parametrize("key", KEYS)
def test_a_number_that_is_too_large_is_refused_by_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, verb in ((2**63, "plan"), (2**64, "run"), (10**25, "plan")):
        assert told(verb, [*BASE, f"{key}={number}"], capsys) == (
            f"error: {key}={number} is too large; a whole number is at most {LARGEST}"
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.more_except("shuffle_seed", "grid")
@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("sweep.shuffle_seed=-9223372036854775809", "sweep.shuffle_seed=-9223372036854775809 is too small"),
        ("+sweep.grid.seed=[1,18446744073709551616]", "seed=18446744073709551616 is too large"),
        ("seed=1,18446744073709551616", "seed=18446744073709551616 is too large"),
        ("seed='18446744073709551616'", "seed=18446744073709551616 is too large"),
        ("seed=" + "9" * 4000, "seed=9999999999"),
    ],
    ids=lambda word: word[:40],
)
def test_it_is_refused_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told("plan", [*BASE, word], capsys).startswith(f"error: {named}")


@pytest.mark.more_except("[300", "grid: {seed:")
@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        (
            "sweep/mine",
            "grid: {steps: [300]}\ncommon: {seed: 18446744073709551616}",
            "seed=18446744073709551616",
        ),
        ("sweep/mine", "grid: {seed: [18446744073709551616]}", "seed=18446744073709551616"),
        ("sweep/mine", f"grid: {{steps: [300]}}\ncommon: {{seed: 0x{'f' * 5000}}}", "seed=0x"),
        ("retry/default", "oom: 18446744073709551616", "retry.oom=18446744073709551616"),
    ],
)
def test_a_file_gives_no_larger_one_either(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"conf/{name}.yaml"
    file.parent.mkdir(parents=True)
    head = "# @package sweep\n" if name.startswith("sweep") else ""
    own = "name: mine\n" if name.startswith("sweep") else ""
    file.write_text(f"{head}defaults: [schema, _self_]\n{own}{text}\n")
    words = ["+sweep=mine", *BASE[1:]] if name.startswith("sweep") else BASE
    assert told("plan", words, capsys).startswith(f"error: {named}")


def test_the_largest_one_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *BASE, f"seed={LARGEST}", f"sweep.shuffle_seed={-LARGEST - 1}"]) == DONE


@pytest.mark.more
def test_a_sweep_with_such_a_record_in_its_ledger_is_run_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / "outputs/smoke/records.jsonl"
    ledger.parent.mkdir(parents=True)
    ledger.write_bytes(encode_record(old_record(seed=2**64)))
    assert main(["run", *BASE]) == DONE
    assert main(["report", *BASE]) == DONE
    assert [json.loads(line)["spec"]["seed"] for line in ledger.read_text().splitlines()] == [2**64, 0]


@pytest.mark.parametrize("number", [2**63, 2**64, 10**25])
def test_a_report_includes_records_with_large_numbers(tmp_path: Path, number: int) -> None:
    ledger = Ledger(tmp_path / "smoke/records.jsonl")
    ledger.path.parent.mkdir()
    kept = [old_record(seed=number), old_record(seed=3), old_record(global_batch_size=number, steps=number)]
    ledger.path.write_bytes(b"".join(map(encode_record, kept)))
    outcome = write_report(ledger.path.parent, ledger.records(), plan_of(kept), FASTEST)
    assert len(outcome.records) == 3
    assert outcome.is_complete
    assert {"results.csv", "results.parquet", "report.html"} <= {file.name for file in outcome.files}


def old_record(**changes: int) -> TrialRecord:
    """Record as versions kept it that accepted any number."""
    spec = trial_spec(**changes)
    return replace(record(placement=placement(spec)), sweep="smoke")
