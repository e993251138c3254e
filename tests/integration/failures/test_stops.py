"""Stops of a training whose steps take seconds: each ends in time with a checkpoint, and is resumed."""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from cli_process import ask, records_in, start
from metadata_server import metadata_server

STEP_SECONDS = 1.0
GRACE_SECONDS = 7
RECORD_SECONDS = 3.0  # from the end of the training to its record, on a busy host
STEPS_BEFORE_BLOCKS = 4  # the first one and the warm-up
STEPS_BEFORE_STOP = 9  # those, some that only describe the job, and one or more of a timed block
JOB = """
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

from workloads.jobs import TorchJob

FOLDER = Path({folder!r})


class SlowLoss(nn.CrossEntropyLoss):
    def forward(self, outputs, labels):
        if (FOLDER / "slow").exists():
            with (FOLDER / "steps").open("a") as steps:
                steps.write("x")
            time.sleep({seconds})
        return super().forward(outputs, labels)


def build(options):
    model = nn.Linear(4, 2)
    data = TensorDataset(torch.ones(512, 4), torch.arange(512) % 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return TorchJob(model=model, loss=SlowLoss(), optimizer=optimizer, data=data)
"""
PREEMPTED = "instance/preempted"
SWEEP = "single-slow_job"


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Values of a metadata server that the commands of the test ask."""
    values = {PREEMPTED: "FALSE"}
    with metadata_server(values) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        yield values


def write_job(folder: Path) -> tuple[str, ...]:
    """Write a job whose steps are slow while the file `slow` is there. Return the words that train it."""
    (folder / "jobs/slow_job").mkdir(parents=True)
    (folder / "jobs/slow_job/torch_job.py").write_text(JOB.format(folder=str(folder), seconds=STEP_SECONDS))
    (folder / "slow").touch()
    job = ("workload=slow_job", "workload_path=jobs", "trainer=torch_ddp", "global_batch_size=4", "steps=400")
    return (*job, "+sweep=single", "tracking=none", f"checkpoint.grace_seconds={GRACE_SECONDS}")


def wait_for_steps(folder: Path, number: int, driver: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + 180
    while not (folder / "steps").exists() or (folder / "steps").stat().st_size < number:
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < until, f"no {number} steps in 180 s"
        time.sleep(0.1)


def request_stop(kind: str, driver: "subprocess.Popen[str]", words: tuple[str, ...], *, cwd: Path) -> None:
    if kind == "SIGTERM":
        driver.terminate()
    else:
        answer = ask(kind, *words, cwd=cwd)
        assert answer.code == 0, answer.err


def read_cpu_seconds(driver: "subprocess.Popen[str]") -> float:
    """Read the CPU seconds of a driver and its threads."""
    times = psutil.Process(driver.pid).cpu_times()
    return times.user + times.system


def wait_for_record(folder: Path, *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not records_in(folder, SWEEP):
        assert time.monotonic() < until, "the stopped trial goes on"
        time.sleep(0.1)


@contextlib.contextmanager
def driving(words: tuple[str, ...], *, cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a sweep and wait until its training is in a timed block. Kill it at the end of the context."""
    with start(*words, cwd=cwd) as driver:
        try:
            wait_for_steps(cwd, STEPS_BEFORE_STOP, driver)
            yield driver
        finally:
            driver.kill()


@pytest.mark.parametrize("executor", ["inline", "ray"])
@pytest.mark.parametrize("kind", ["SIGTERM", "cancel"])
@pytest.mark.more
def test_a_stop_between_slow_steps_leaves_a_checkpoint_within_the_grace_period_and_is_resumed(
    tmp_path: Path, kind: str, executor: str, record_property: Callable[[str, object], None]
) -> None:
    words = (*write_job(tmp_path), f"executor={executor}")
    with driving(words, cwd=tmp_path) as driver:
        started, cpu_before = time.monotonic(), read_cpu_seconds(driver)
        request_stop(kind, driver, words, cwd=tmp_path)
        wait_for_record(tmp_path, seconds=3 * GRACE_SECONDS)
        seconds, cpu_seconds = time.monotonic() - started, read_cpu_seconds(driver) - cpu_before
        output = driver.communicate(timeout=60)[0]
    record_property("seconds", round(seconds, 1))
    record_property("cpu_seconds", round(cpu_seconds, 2))
    (stopped,) = records_in(tmp_path, SWEEP)
    assert stopped["failure"]["kind"] == "preempted", output
    assert seconds < GRACE_SECONDS + RECORD_SECONDS, output
    assert cpu_seconds <= 1.0, output
    (checkpoint,) = tmp_path.glob(f"outputs/{SWEEP}/checkpoints/*/*/meta.json")
    stopped_step = json.loads(checkpoint.read_text())["progress"]["step"]
    record_property("step", stopped_step)
    assert stopped_step > STEPS_BEFORE_BLOCKS

    (tmp_path / "slow").unlink()
    again = ask(*words, cwd=tmp_path)
    assert again.code == 0, again.out + again.err
    assert records_in(tmp_path, SWEEP)[-1]["result"]["resumed_from_step"] == stopped_step


@pytest.mark.more
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_a_preemption_notice_between_slow_steps_leaves_a_checkpoint_that_the_retry_resumes(
    tmp_path: Path, metadata: dict[str, str], executor: str
) -> None:
    words = (*write_job(tmp_path), f"executor={executor}", "retry.preempted=1")
    with driving(words, cwd=tmp_path) as driver:
        metadata[PREEMPTED] = "TRUE"
        wait_for_record(tmp_path, seconds=GRACE_SECONDS + RECORD_SECONDS)
        metadata[PREEMPTED] = "FALSE"
        (tmp_path / "slow").unlink()
        output = driver.communicate(timeout=90)[0]
    stopped, resumed = records_in(tmp_path, SWEEP)
    assert stopped["failure"]["kind"] == "preempted", output
    assert resumed["result"]["resumed_from_step"] > STEPS_BEFORE_BLOCKS, output


@pytest.mark.more
def test_a_pause_between_slow_steps_lets_the_training_end_and_starts_no_other(tmp_path: Path) -> None:
    words = (*write_job(tmp_path), "executor=inline", "seed=0,1")
    with driving(words, cwd=tmp_path) as driver:
        cpu_before = read_cpu_seconds(driver)
        request_stop("pause", driver, words, cwd=tmp_path)
        steps = (tmp_path / "steps").stat().st_size
        wait_for_steps(tmp_path, steps + 3, driver)
        cpu_seconds = read_cpu_seconds(driver) - cpu_before
        (tmp_path / "slow").unlink()
        output = driver.communicate(timeout=90)[0]
    assert "pausing: nothing more is started" in output
    assert cpu_seconds <= 1.0, output
    (only,) = records_in(tmp_path, SWEEP)
    assert (only["failure"], only["attempt"], only["result"]["resumed_from_step"]) == (None, 1, 0)
