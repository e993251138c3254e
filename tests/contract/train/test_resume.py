"""A trial that lost a worker in its middle goes on from its checkpoint, and ends as one that lost none."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from builders import placement, trial_spec
from busy_hosts import with_result
from noop_trials import context, noop
from process_tracking import Family, family, heeds_sigterm
from queues import queue_for
from trainer_runs import RUNS, python_of
from trials import Unwatched

from orchestrator.core.device import Node
from orchestrator.core.inventory import of_host
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import TrainResult, TrialRecord
from orchestrator.core.settings import Checkpointing, Deadlines
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, TimingSpec
from orchestrator.execute.executor import Executor, SweepContext
from orchestrator.execute.inline import InlineExecutor
from orchestrator.train.checkpoints.format import TrainingProgress, write
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

pytest.importorskip("torch", reason="torch is not installed")

HERE = of_host(Node(name="localhost", cpus=2, cpu_model="Some CPU"))
STEPS = 400
SMALL = {"filters": (4, 8), "dense_units": 16, "learning_rate": 0.02, "momentum": 0.9}


def inline() -> Executor:
    return InlineExecutor(HERE)


def on_ray() -> Executor:
    pytest.importorskip("ray", reason="Ray is not installed")
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    return RayTuneExecutor(HERE, address="local")


def training(
    trainer: str = "torch_ddp", *, workers: int = 1, memory_settings: MemorySettings = DEFAULT_MEMORY
) -> Placement:
    """A small network, of which six blocks of five steps are timed."""
    trial = trial_spec(
        trainer=trainer,
        trainer_options={"shares": "even"}
        if trainer == "kernel_split"
        else {},  # other shares round otherwise
        workload_options=SMALL,
        host_cpu=f"{cpu_model()} x2",
        num_workers=workers,
        memory_settings=memory_settings,
        steps=STEPS,
        timing=TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
    )
    return placement(trial, replicas=workers, num_processes=workers, threads=1)


def kept_in(folder: Path) -> list[Path]:
    """The checkpoints of all trials, the oldest first."""
    return sorted(path.parent for path in (folder / "checkpoints").glob("*/*/meta.json"))


class Striker(Unwatched):
    """Sends a signal to a worker of the first attempt once so many checkpoints are kept."""

    def __init__(self, relatives: Family, folder: Path, number: int, *, after: int = 1) -> None:
        self._relatives = relatives
        self._folder = folder
        self._number = number
        self._after = after

    def started(self, attempt: Attempt) -> None:
        if attempt.number == 1:
            threading.Thread(target=self._strike, daemon=True).start()

    def _strike(self) -> None:
        while len(kept_in(self._folder)) < self._after:
            time.sleep(0.01)
        os.kill(max(self._relatives.workers()), self._number)


class Notifier(Unwatched):
    """Tells the only worker of the first attempt to leave, as soon as it heeds that."""

    def __init__(self, relatives: Family, *, after_seconds: float = 0.0) -> None:
        self._relatives, self._after_seconds = relatives, after_seconds

    def started(self, attempt: Attempt) -> None:
        if attempt.number == 1:
            threading.Thread(target=self._notify, daemon=True).start()

    def _notify(self) -> None:
        while not any(map(heeds_sigterm, self._relatives.workers())):
            time.sleep(0.01)
        time.sleep(self._after_seconds)
        os.kill(*self._relatives.workers(), signal.SIGTERM)


@pytest.fixture
def told(tmp_path: Path) -> SweepContext:
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=tmp_path, download=False).path
    url = str(tmp_path / "checkpoints")
    return context(
        tmp_path,
        data_paths={"synthetic:1": str(data)},
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
        pythons={trainer: str(python_of(trainer)) for trainer in (*RUNS, "kernel_split", "unequal_ddp")},
        retry_limits={"worker_lost": 1, "preempted": 1},
        checkpointing=Checkpointing(every_seconds=0.1, grace_seconds=20.0, url=url),
    )


@pytest.fixture
def relatives(monkeypatch: pytest.MonkeyPatch):
    with family(monkeypatch) as started:
        yield started


def run(
    executor: Executor, told: SweepContext, trial: Placement, watcher: Unwatched
) -> Sequence[TrialRecord]:
    records: list[TrialRecord] = []
    executor.run_queue(queue_for([trial], told, HERE), told, watcher, on_record=records.append)
    return records


def completed(record: TrialRecord) -> TrainResult:
    result = with_result(record).result
    assert result is not None
    return result


def assert_same_training(resumed: TrialRecord, whole: TrialRecord) -> None:
    """Compare bit for bit, at every step that both report."""
    ours, theirs = completed(resumed), completed(whole)
    assert (ours.steps, ours.samples) == (theirs.steps, theirs.samples)
    assert ours.quality == theirs.quality
    common = dict(ours.losses).keys() & dict(theirs.losses).keys()
    assert min(common) < ours.resumed_from_step < max(common) == STEPS
    assert {step: dict(ours.losses)[step] for step in common} == {
        step: dict(theirs.losses)[step] for step in common
    }


@pytest.mark.slow_cases("2", "on_ray-torch_ddp-1")
@pytest.mark.parametrize(
    ("executor", "trainer", "workers"),
    [
        (inline, "torch_ddp", 1),
        (inline, "torch_ddp", 2),
        (inline, "kernel_split", 2),
        (on_ray, "torch_ddp", 1),
        (on_ray, "torch_ddp", 2),
    ],
)
@pytest.mark.more
def test_a_killed_worker_is_made_up_for_from_the_checkpoint(
    told: SweepContext,
    tmp_path: Path,
    relatives: Family,
    executor: Callable[[], Executor],
    trainer: str,
    workers: int,
) -> None:
    trial = training(trainer, workers=workers)
    [whole] = run(inline(), told, trial, Unwatched())
    assert completed(whole).resumed_from_step == 0
    shutil.rmtree(tmp_path / "checkpoints")
    lost, resumed = run(executor(), told, trial, Striker(relatives, tmp_path, signal.SIGKILL))
    assert (lost.failure.kind, lost.attempt) == ("worker_lost", 1)
    assert (resumed.attempt, resumed.provenance) == (2, "measured")
    assert len(completed(resumed).block_seconds[0]) == 6
    assert_same_training(resumed, whole)


@pytest.mark.more
def test_a_killed_rank_of_shards_is_made_up_for_from_the_checkpoint(
    told: SweepContext, tmp_path: Path, relatives: Family
) -> None:
    trial = training(workers=2, memory_settings=MemorySettings(sharding="full"))
    [whole] = run(inline(), told, trial, Unwatched())
    shutil.rmtree(tmp_path / "checkpoints")
    lost, resumed = run(inline(), told, trial, Striker(relatives, tmp_path, signal.SIGKILL))
    assert (lost.failure.kind, lost.attempt, resumed.attempt) == ("worker_lost", 1, 2)
    assert_same_training(resumed, whole)


@pytest.mark.slow
def test_shares_that_are_dealt_anew_count_every_sample(
    told: SweepContext, tmp_path: Path, relatives: Family
) -> None:
    trial = training("unequal_ddp", workers=2)
    _, resumed = run(inline(), told, trial, Striker(relatives, tmp_path, signal.SIGKILL))
    assert resumed.attempt == 2
    result = completed(resumed)
    assert result.resumed_from_step > 0
    assert (result.steps, result.samples) == (STEPS, STEPS * 64)
    assert sum(device.batch_share.samples for device in result.devices) == 64


@pytest.mark.more
@pytest.mark.slow_cases("tensorflow-2", "torch_xla-1")
@pytest.mark.parametrize(("trainer", "workers"), [("torch_ddp", 2), ("tensorflow", 2), ("torch_xla", 1)])
def test_a_notice_to_leave_makes_a_checkpoint_at_once(
    told: SweepContext, tmp_path: Path, relatives: Family, trainer: str, workers: int
) -> None:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    trial = training(trainer, workers=workers)
    left, resumed = run(inline(), told, trial, Striker(relatives, tmp_path, signal.SIGTERM))
    assert left.failure.kind == "preempted"
    result = completed(resumed)
    assert left.failure.message == f"told to leave (SIGTERM) after step {result.resumed_from_step}"
    assert result.steps == STEPS


@pytest.mark.more
def test_a_worker_that_ignores_sigterm_is_ended_after_its_grace(tmp_path: Path, relatives: Family) -> None:
    url = str(tmp_path / "checkpoints")
    checkpointing = Checkpointing(every_seconds=60.0, grace_seconds=0.5, url=url)
    hangs = Notifier(relatives, after_seconds=1.0)  # the steps before take microseconds
    [left] = run(inline(), context(tmp_path, checkpointing=checkpointing), noop("hang"), hangs)
    assert (left.failure.kind, left.failure.message) == ("preempted", "rank 0 died of SIGALRM")
    assert kept_in(tmp_path) == []


@pytest.mark.more
def test_another_trials_checkpoint_is_shown_and_the_training_starts_anew(tmp_path: Path) -> None:
    checkpointing = Checkpointing(every_seconds=60.0, grace_seconds=1.0, url=str(tmp_path / "checkpoints"))
    trial, other = noop(), noop(seed=1).trial_id
    (tmp_path / "checkpoints" / trial.trial_id).mkdir(parents=True)
    progress = TrainingProgress(step=7, phase="training", samples=0, training_seconds=0.0)
    write(tmp_path / "checkpoints" / trial.trial_id, {}, trial_id=other, packages={}, progress=progress)
    [record] = run(inline(), context(tmp_path, checkpointing=checkpointing), trial, Unwatched())
    assert (record.result.resumed_from_step, record.result.steps) == (0, 20)
    assert record.result.checkpoint_notes == (
        f"the checkpoint of step 7 is of trial {other}; this is {trial.trial_id}",
    )
