"""An own job whose steps take as long as wanted, and stops of the sweep that trains it."""

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from cli_process import ask, records_in, start

PREEMPTED = "instance/preempted"
"""Key of a metadata server's preemption notice: TRUE or FALSE."""

_SWEEP = "single-slow_job"
STEPS_BEFORE_BLOCKS = 4  # the first one and the warm-up

_STEPS_BEFORE_STOP = 9  # those, some that only describe the job, and one or more of a timed block
_START_SECONDS = 600
_END_SECONDS = 120
_SIGNALS = {"SIGTERM": [signal.SIGTERM], "Ctrl-C": [signal.SIGINT], "SIGTERM twice": [signal.SIGTERM] * 2}
_SECONDS_BETWEEN_SIGNALS = 1
_STEPS_OF_A_PAUSE = 3
_JOB = """
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedSweep:
    """Course of a stop, and of the same command afterwards. Times are from the request.

    Attributes:
        recorded_seconds: until the trial was recorded; None if it was not.
        ended_seconds: until the driver had ended.
        cpu_seconds: of the driver, until the trial was recorded or the driver had ended.
        failure: kind of the trial's failure; None if it was not recorded or has none.
        num_recorded: trials recorded until the driver had ended.
        checkpoint_step: step of the checkpoint that the stopped trial left; None without one.
        resumed_step: step from which the next attempt of that trial went on; None without an attempt.
        output: of the driver.
    """

    recorded_seconds: float | None
    ended_seconds: float
    cpu_seconds: float
    failure: str | None
    num_recorded: int
    checkpoint_step: int | None
    resumed_step: int | None
    output: str


def write_job(folder: Path, *, step_seconds: float, grace_seconds: int) -> tuple[str, ...]:
    """Write a job whose steps are slow until `_end_slow_steps`. Return the words that train it."""
    (folder / "jobs/slow_job").mkdir(parents=True)
    (folder / "jobs/slow_job/torch_job.py").write_text(_JOB.format(folder=str(folder), seconds=step_seconds))
    (folder / "slow").touch()
    job = ("workload=slow_job", "workload_path=jobs", "trainer=torch_ddp", "global_batch_size=4", "steps=400")
    return (
        *job,
        "workload_seconds=600",
        "+sweep=single",
        "tracking=none",
        f"checkpoint.grace_seconds={grace_seconds}",
    )


def stop_and_resume(
    kind: str, words: tuple[str, ...], folder: Path, metadata: dict[str, str]
) -> StoppedSweep:
    """Train, stop between two slow steps, and train on with fast ones.

    Args:
        kind: `SIGTERM`, `SIGTERM twice`, `Ctrl-C`, `cancel`, `pause`, after which the training goes on with
            some slow steps, or `notice`, the preemption notice of a metadata server, after which the sweep
            itself tries the trial again.
        metadata: values of the metadata server that the sweep asks.
    """
    with _driving(words, cwd=folder) as driver:
        began, cpu_before = time.monotonic(), _read_cpu_seconds(driver)
        _request_stop(kind, driver, words, folder, metadata)
        if kind == "pause":
            _wait_for_steps(folder, _STEPS_OF_A_PAUSE, driver)
            _end_slow_steps(folder)
        cpu_seconds = _watch_cpu_seconds(driver, folder) - cpu_before
        recorded = time.monotonic() - began if records_in(folder, _SWEEP) else None
        checkpoint_step = _read_checkpoint_step(folder)
        metadata[PREEMPTED] = "FALSE"
        _end_slow_steps(folder)
        output = driver.communicate(timeout=_END_SECONDS)[0]
        ended = time.monotonic() - began
    num_recorded = len(records_in(folder, _SWEEP))
    again = ask(*words, cwd=folder)
    assert again.code == 0, again.out + again.err
    records = records_in(folder, _SWEEP)
    stopped = next((record for record in records if record["attempt"] == 1 and record["failure"]), None)
    resumed = [record["result"] for record in records if record["attempt"] == 2]
    return StoppedSweep(
        recorded_seconds=recorded,
        ended_seconds=ended,
        cpu_seconds=cpu_seconds,
        failure=stopped["failure"]["kind"] if stopped else None,
        num_recorded=num_recorded,
        checkpoint_step=checkpoint_step,
        resumed_step=resumed[0]["resumed_from_step"] if resumed else None,
        output=output,
    )


def _end_slow_steps(folder: Path) -> None:
    """Let all further steps take milliseconds."""
    (folder / "slow").unlink(missing_ok=True)


def _wait_for_steps(folder: Path, number: int, driver: "subprocess.Popen[str]") -> None:
    """Wait until that many more slow steps have begun."""
    wanted, until = _count_steps(folder) + number, time.monotonic() + _START_SECONDS
    while _count_steps(folder) < wanted:
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < until, f"no {number} steps in {_START_SECONDS} s"
        time.sleep(0.1)


def _read_cpu_seconds(driver: "subprocess.Popen[str]") -> float:
    """Read the CPU seconds of a driver and its threads."""
    times = psutil.Process(driver.pid).cpu_times()
    return times.user + times.system


@contextlib.contextmanager
def _driving(words: tuple[str, ...], *, cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a sweep and wait until its training is in a timed block. Kill it at the end of the context."""
    with start(*words, cwd=cwd) as driver:
        try:
            _wait_for_steps(cwd, _STEPS_BEFORE_STOP, driver)
            yield driver
        finally:
            driver.kill()


def _request_stop(
    kind: str,
    driver: "subprocess.Popen[str]",
    words: tuple[str, ...],
    folder: Path,
    metadata: dict[str, str],
) -> None:
    """Send the signals, give notice, or type the command `cancel` or `pause`."""
    if kind == "notice":
        metadata[PREEMPTED] = "TRUE"
    elif kind in _SIGNALS:
        for number, one in enumerate(_SIGNALS[kind]):
            time.sleep(_SECONDS_BETWEEN_SIGNALS if number else 0)
            driver.send_signal(one)
    else:
        answer = ask(kind, *words, cwd=folder)
        assert answer.code == 0, answer.err


def _watch_cpu_seconds(driver: "subprocess.Popen[str]", folder: Path) -> float:
    """Return a driver's CPU seconds when a trial is recorded or the driver has ended."""
    until = time.monotonic() + _END_SECONDS
    cpu_seconds = _read_cpu_seconds(driver)
    while driver.poll() is None and not records_in(folder, _SWEEP):
        assert time.monotonic() < until, "the stopped trial goes on"
        cpu_seconds = _read_cpu_seconds(driver)
        time.sleep(0.1)
    return cpu_seconds


def _read_checkpoint_step(folder: Path) -> int | None:
    kept = folder.glob(f"outputs/{_SWEEP}/checkpoints/*/*/meta.json")
    return max((json.loads(path.read_text())["progress"]["step"] for path in kept), default=None)


def _count_steps(folder: Path) -> int:
    return (folder / "steps").stat().st_size if (folder / "steps").exists() else 0
