"""A running sweep, looked at and stopped from another terminal; the same command goes on."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_process import NOOP, ask, records_in, start, wait_for_stage

HANGS = (*NOOP, "trainer.fault=none,hang", "checkpoint.grace_seconds=1")
Driven = Callable[..., "subprocess.Popen[str]"]
MANY = (*NOOP, "seed=range(40)")


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    """Starts a command here, which does not outlive the test."""
    with contextlib.ExitStack() as held:

        def begin(*words: str) -> "subprocess.Popen[str]":
            driver = held.enter_context(start(*words, cwd=tmp_path))
            held.callback(driver.kill)
            return driver

        yield begin


def ended(driver: "subprocess.Popen[str]") -> tuple[int, str]:
    out, _ = driver.communicate(timeout=60)
    return driver.returncode, out


@pytest.mark.slow_cases("ray")
@pytest.mark.parametrize("executor", ["inline", "ray"])
@pytest.mark.more
def test_a_cancelled_sweep_ends_with_a_report_of_what_it_has(
    tmp_path: Path, driven: Driven, executor: str
) -> None:
    words = (*HANGS, f"executor={executor}")
    driver = driven(*words)
    wait_for_stage(tmp_path, "running", trials=2)
    status = ask("status", *words, cwd=tmp_path)
    assert (status.code, status.err) == (0, "")
    assert "trainer.fault=hang" in status.out
    assert "1 of 2 done: 1 measured" in status.out
    other_words = ask("status", *NOOP, f"executor={executor}", cwd=tmp_path)
    assert "1 of 2 done: 1 measured" in other_words.out, "the plan is that of the command that runs"
    assert status.out.rstrip().endswith(f"run by process {driver.pid}")

    asked = ask("cancel", *words, cwd=tmp_path)
    assert (
        asked.out
        == f"process {driver.pid} stops the running trials and ends; the same command continues the sweep\n"
    )
    code, out = ended(driver)
    assert code == 1
    assert "stopping: what runs leaves" in out
    assert "failed: preempted: " in out
    assert [record["failure"] and record["failure"]["kind"] for record in records_in(tmp_path)] == [
        None,
        "preempted",
    ]


@pytest.mark.more
def test_a_paused_sweep_ends_after_its_running_trials_and_the_same_command_runs_the_rest(
    tmp_path: Path, driven: Driven
) -> None:
    ask("--version", cwd=tmp_path)  # the first command imports for seconds, in which the sweep would end
    driver = driven(*MANY)
    wait_for_stage(tmp_path, "running", trials=1)
    assert ask("pause", *MANY, cwd=tmp_path).code == 0
    code, out = ended(driver)
    done = records_in(tmp_path)
    assert code == 1
    assert "pausing: nothing more is started" in out
    assert 0 < len(done) < 40
    assert all(mapping["result"] for mapping in done)

    assert ask(*MANY, cwd=tmp_path).code == 0
    every = [record["trial_id"] for record in records_in(tmp_path)]
    assert (len(every), len(set(every))) == (40, 40)


@pytest.mark.more
def test_a_sweep_that_waits_for_its_turn_on_the_host_can_be_cancelled(tmp_path: Path, driven: Driven) -> None:
    first = driven(*HANGS, "sweep.name=first")
    wait_for_stage(tmp_path, "running", trials=2, sweep="first")
    words = (*NOOP, "seed=1", "sweep.name=second")
    second = driven(*words)
    assert second.stdout is not None
    assert any(line.startswith("waiting for sweep 'first'") for line in second.stdout)
    assert ask("cancel", *words, cwd=tmp_path).code == 0
    code, out = ended(second)
    assert (code, first.poll()) == (1, None)
    assert "stopping" in out
    assert records_in(tmp_path, "second") == []
