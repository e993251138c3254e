"""Stops of a training whose steps take seconds: each ends in time with a checkpoint, and is resumed."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_process import ask, command, environment
from metadata_server import metadata_server

STEP_SECONDS = 3.0
GRACE_SECONDS = 20
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
    (folder / "jobs/slow_job/torch_job.py").write_text(
        JOB.replace("{folder!r}", repr(str(folder))).replace("{seconds}", str(STEP_SECONDS))
    )
    (folder / "slow").touch()
    job = ("workload=slow_job", "workload_path=jobs", "trainer=torch_ddp", "global_batch_size=4", "steps=400")
    return (*job, "+sweep=single", "tracking=none", f"checkpoint.grace_seconds={GRACE_SECONDS}")


def wait_for_steps(folder: Path, number: int, driver: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + 90
    while not (folder / "steps").exists() or (folder / "steps").stat().st_size < number:
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < until, f"no {number} steps in 90 s"
        time.sleep(0.1)


def read_records(folder: Path) -> list[Mapping[str, Any]]:
    ledgers = list(folder.glob("outputs/*/records.jsonl"))
    return [json.loads(line) for ledger in ledgers for line in ledger.read_text().splitlines()]


def request_stop(kind: str, driver: "subprocess.Popen[str]", words: tuple[str, ...], *, cwd: Path) -> None:
    if kind == "SIGTERM":
        driver.terminate()
    else:
        answer = ask(kind, *words, cwd=cwd)
        assert answer.code == 0, answer.err


def read_cpu_seconds(process: psutil.Process) -> float:
    """Read the CPU seconds of a process and its threads."""
    times = process.cpu_times()
    return times.user + times.system


def watch_until_recorded(driver: "subprocess.Popen[str]", folder: Path) -> tuple[float, float]:
    """Return the seconds until the stopped trial is recorded, and the CPU seconds of the driver meanwhile."""
    process, started = psutil.Process(driver.pid), time.monotonic()
    first = last = read_cpu_seconds(process)
    while not read_records(folder):
        assert time.monotonic() - started < 2 * GRACE_SECONDS, "the stopped trial goes on"
        last = read_cpu_seconds(process)
        time.sleep(0.1)
    return time.monotonic() - started, last - first


@pytest.mark.parametrize("executor", ["inline", "ray"])
@pytest.mark.parametrize("kind", ["SIGTERM", "cancel"])
def test_a_stop_between_slow_steps_leaves_a_checkpoint_within_the_grace_period_and_is_resumed(
    tmp_path: Path, kind: str, executor: str
) -> None:
    words = (*write_job(tmp_path), f"executor={executor}")
    driver = subprocess.Popen(
        command(*words),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with driver:
        try:
            wait_for_steps(tmp_path, 3, driver)
            request_stop(kind, driver, words, cwd=tmp_path)
            seconds, cpu_seconds = watch_until_recorded(driver, tmp_path)
            output = driver.communicate(timeout=60)[0]
        finally:
            driver.kill()
    (stopped,) = read_records(tmp_path)
    assert stopped["failure"]["kind"] == "preempted", output
    # Its report and its end take CPU time too; a driver that spins takes a second of it every second.
    assert (seconds < GRACE_SECONDS, cpu_seconds < max(1.0, seconds / 2)) == (True, True), (
        seconds,
        cpu_seconds,
    )
    (checkpoint,) = tmp_path.glob("outputs/*/checkpoints/*/*/meta.json")
    stopped_step = json.loads(checkpoint.read_text())["progress"]["step"]

    (tmp_path / "slow").unlink()
    again = ask(*words, cwd=tmp_path)
    assert again.code == 0, again.out + again.err
    resumed = read_records(tmp_path)[-1]["result"]
    assert resumed["resumed_from_step"] == stopped_step > 0


def test_a_preemption_notice_between_slow_steps_leaves_a_checkpoint_that_the_retry_resumes(
    tmp_path: Path, metadata: dict[str, str]
) -> None:
    words = (*write_job(tmp_path), "executor=inline", "retry.preempted=1")
    driver = subprocess.Popen(
        command(*words),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with driver:
        try:
            wait_for_steps(tmp_path, 3, driver)
            metadata[PREEMPTED] = "TRUE"
            until = time.monotonic() + GRACE_SECONDS
            while not read_records(tmp_path):
                assert time.monotonic() < until, "the attempt goes on after the grace period"
                time.sleep(0.1)
            metadata[PREEMPTED] = "FALSE"
            (tmp_path / "slow").unlink()
            output = driver.communicate(timeout=90)[0]
        finally:
            driver.kill()
    stopped, resumed = read_records(tmp_path)
    assert stopped["failure"]["kind"] == "preempted", output
    assert resumed["result"]["resumed_from_step"] > 0, output
