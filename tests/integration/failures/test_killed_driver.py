"""A driver or its Ray that is killed in a trial: nothing lives on, and the same command resumes the trial."""

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest
from cli_process import ask, records_in, start
from process_tracking import Family, command_of, family, has_ended

WORDS = (
    "+sweep=smoke",
    "trainer=torch_ddp",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "tracking=none",
    "steps=600",
    "workload.filters=[4,8]",
    "workload.dense_units=16",
    "checkpoint.every_seconds=0.1",
)


def kept_in(folder: Path) -> list[Path]:
    """The checkpoints of all trials, the oldest first."""
    return sorted(path.parent for path in (folder / "outputs/smoke/checkpoints").glob("*/*/meta.json"))


@pytest.fixture
def relatives(monkeypatch: pytest.MonkeyPatch):
    with family(monkeypatch) as started:
        yield started


GONE_SECONDS = 15.0


def require_end(processes: Iterable[psutil.Process]) -> None:
    """Fail if one of them lives on. Ray's agents overwrite the variable by which others are found."""
    until = time.monotonic() + GONE_SECONDS
    left = [one.pid for one in processes if not has_ended(one.pid, seconds=until - time.monotonic())]
    assert not left, [command_of(pid) for pid in left]


def kill_driver_after(count: int, folder: Path, relatives: Family, *words: str) -> list[Path]:
    """Start the sweep, kill its driver once so many checkpoints are kept, and say which are left."""
    with start(*WORDS, *words, cwd=folder) as driver:
        while len(kept_in(folder)) < count:
            assert driver.poll() is None
            time.sleep(0.01)
        started = psutil.Process(driver.pid).children(recursive=True)
        os.kill(driver.pid, signal.SIGKILL)
    require_end(started)
    relatives.wait_until_gone()
    return kept_in(folder)


@pytest.mark.slow_cases("ray")
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_the_same_command_goes_on_from_the_newest_checkpoint_and_leaves_none(tmp_path, relatives, executor):
    *_, newest = kill_driver_after(2, tmp_path, relatives, f"executor={executor}")
    assert records_in(tmp_path) == []
    answer = ask(*WORDS, f"executor={executor}", cwd=tmp_path)
    (record,) = records_in(tmp_path)
    step = int(newest.name.partition("-")[0])
    assert (answer.code, record["attempt"], record["result"]["resumed_from_step"]) == (0, 2, step)
    assert record["result"]["steps"] == 600
    assert f"resumed from step {step}" in answer.out
    assert kept_in(tmp_path) == []


@pytest.mark.slow
def test_shards_of_a_killed_driver_end_as_those_of_one_that_lived(tmp_path, relatives):
    words = ("executor=inline", "num_workers=2", "sharding=full")
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    for folder in (cut, whole):
        folder.mkdir()
    kill_driver_after(2, cut, relatives, *words)
    results = []
    for folder in (cut, whole):
        assert ask(*WORDS, *words, cwd=folder).code == 0
        (record,) = records_in(folder)
        results.append(record["result"])
    resumed, lived = results
    assert resumed["resumed_from_step"] > lived["resumed_from_step"] == 0
    assert (resumed["losses"][-1], resumed["quality"]) == (lived["losses"][-1], lived["quality"])
    assert resumed["samples"] == lived["samples"]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["raylet", "gcs_server"])
def test_a_killed_process_of_ray_ends_the_command_in_one_line_and_the_same_command_resumes(
    tmp_path, relatives, victim
):
    words = (*WORDS, "executor=ray")
    with start(*words, cwd=tmp_path) as driver:
        while not kept_in(tmp_path):
            assert driver.poll() is None
            time.sleep(0.01)
        started = psutil.Process(driver.pid).children(recursive=True)
        (killed,) = [one for one in started if one.name() == victim]
        killed.kill()
        output = driver.communicate(timeout=GONE_SECONDS)[0]
    require_end(started)
    relatives.wait_until_gone()
    *_, last = output.splitlines()
    assert last == (
        f"error: Ray's {victim} was killed or has crashed; finished trials are kept, and the same command "
        "runs the rest"
    )
    assert "(raylet)" not in output
    assert (driver.returncode, records_in(tmp_path)) == (1, [])

    answer = ask(*words, cwd=tmp_path)
    (record,) = records_in(tmp_path)
    assert (answer.code, record["attempt"]) == (0, 2)
    assert record["result"]["resumed_from_step"] > 0


@pytest.mark.more
def test_a_checkpoint_that_was_cut_in_half_is_shown_and_the_one_before_is_taken(tmp_path, relatives):
    *_, before, newest = kill_driver_after(2, tmp_path, relatives, "executor=inline")
    arrays = newest / "arrays.npz"
    arrays.write_bytes(arrays.read_bytes()[: arrays.stat().st_size // 2])
    answer = ask(*WORDS, "executor=inline", cwd=tmp_path)
    (record,) = records_in(tmp_path)
    step, damaged = (int(value.name.partition("-")[0]) for value in (before, newest))
    assert record["result"]["resumed_from_step"] == step
    assert f"the checkpoint of step {damaged} is damaged: its hash is another" in answer.out
    assert kept_in(tmp_path) == []
