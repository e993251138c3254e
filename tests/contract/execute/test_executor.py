"""Every executor keeps the same contract: one story for each placement, whatever happens to it."""

import dataclasses
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from builders import placement
from noop_trials import context, noop, python_with
from plan_builders import held
from process_tracking import family
from queues import queue_for
from trials import Unwatched

from orchestrator.core.device import Accelerators, Node
from orchestrator.core.inventory import Inventory, of_host
from orchestrator.core.placement import Attempt, Placement, RankGroup
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.execute.executor import Executor, SweepContext
from orchestrator.execute.inline import InlineExecutor

HERE = of_host(Node(name="localhost", cpus=2, cpu_model="Some CPU"))


def inline(inventory: Inventory) -> Executor:
    return InlineExecutor(inventory)


def on_ray(inventory: Inventory) -> Executor:
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    return RayTuneExecutor(inventory, address="local")


@pytest.fixture(params=[inline, on_ray], ids=["inline", "ray"])
def build_executor(request: pytest.FixtureRequest) -> Callable[[Inventory], Executor]:
    return request.param


def load_records(
    executor: Executor,
    told: SweepContext,
    placements: Sequence[Placement],
    watcher: object = None,
    inventory: Inventory = HERE,
) -> list[TrialRecord]:
    records: list[TrialRecord] = []
    queue = queue_for(placements, told, inventory)
    executor.run_queue(queue, told, watcher or Unwatched(), on_record=records.append)
    return records


@pytest.mark.slow_cases("ray")
def test_each_failure_has_its_class_and_the_healthy_trials_go_on(
    build_executor: Callable[[Inventory], Executor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = context(
        tmp_path,
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=60.0, run_seconds=3.0),
        retry_limits={"worker_lost": 1},
    )
    faults = ["none", "raise", "die", "hang", "nan", "none"]
    placements = [noop(fault, seed=seed) for seed, fault in enumerate(faults)]
    with family(monkeypatch):
        records = load_records(build_executor(HERE), told, placements)
    ends = [(r.spec.seed, r.attempt, r.failure.kind if r.failure else "finished") for r in records]
    assert sorted(ends) == [
        (0, 1, "finished"),
        (1, 1, "error"),
        (2, 1, "worker_lost"),
        (2, 2, "worker_lost"),
        (3, 1, "timeout"),
        (4, 1, "diverged"),
        (5, 1, "finished"),
    ]
    for record in records:
        assert record.log_path is not None
        assert (tmp_path / record.log_path / "rank0.log").exists()


@pytest.mark.slow_cases("ray")
def test_no_rehearsal_runs_beside_a_measured_trial(
    build_executor: Callable[[Inventory], Executor], tmp_path: Path
) -> None:
    measured = [noop(seed=seed, cpus=2) for seed in range(3)]
    rehearsed = [noop(seed=seed, cpus=1, provenance="rehearsed") for seed in range(3, 7)]
    records = load_records(build_executor(HERE), context(tmp_path), [*measured, *rehearsed])
    assert [record.failure for record in records] == [None] * 7
    spans = {
        kind: [(r.started_at, r.ended_at) for r in records if r.provenance == kind]
        for kind in ("measured", "rehearsed")
    }
    assert max(end for _, end in spans["measured"]) <= min(start for start, _ in spans["rehearsed"])


@pytest.mark.more_except("inline")
def test_what_never_fits_is_infeasible_and_shows_what_there_is(
    build_executor: Callable[[Inventory], Executor], tmp_path: Path
) -> None:
    told = context(
        tmp_path, deadlines=Deadlines(resources_seconds=20.0, start_seconds=60.0, run_seconds=60.0)
    )
    records = load_records(build_executor(HERE), told, [noop(seed=1, cpus=64), noop(seed=2)])
    by_seed = {record.spec.seed: record for record in records}
    assert by_seed[2].failure is None
    assert by_seed[1].failure is not None
    assert by_seed[1].failure.kind == "infeasible"
    assert "64" in by_seed[1].failure.message
    assert "has 2" in by_seed[1].failure.message


class Killer(Unwatched):
    """Kills the process in which Ray supervises a trial, as soon as that trial hangs."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def started(self, attempt: Attempt) -> None:
        if attempt.placement.trial.seed == self._seed and attempt.number == 1:
            supervisors = [
                child
                for child in psutil.Process().children(recursive=True)
                if child.cmdline()[:1] == ["ray::ImplicitFunc.train"] or "ImplicitFunc" in child.name()
            ]
            assert supervisors, "the first trial's actor is reused for this one"
            for supervisor in supervisors:
                os.kill(supervisor.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_supervisor_on_ray_is_a_lost_worker_and_the_sweep_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = context(tmp_path, retry_limits={"worker_lost": 1})
    placements = [noop(seed=seed) for seed in range(3)]
    with family(monkeypatch):
        records = load_records(on_ray(HERE), told, placements, watcher=Killer(seed=1))
    ends = [(r.spec.seed, r.attempt, r.failure.kind if r.failure else "finished") for r in records]
    assert sorted(ends) == [(0, 1, "finished"), (1, 1, "worker_lost"), (1, 2, "finished"), (2, 1, "finished")]


@pytest.mark.slow
def test_two_sweeps_of_one_process_run_on_two_clusters(tmp_path: Path) -> None:
    for seed in (1, 2):
        [record] = load_records(on_ray(HERE), context(tmp_path), [noop(seed=seed)])
        assert record.failure is None
        assert dataclasses.is_dataclass(record.result)


_NOTES_ITS_GPUS = """
import os, sys
if "orchestrator.train.worker" in sys.orig_argv:
    with open({note!r}, "a") as note:
        print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ.get("CUDA_DEVICE_ORDER"), file=note)
"""


@pytest.mark.more_except("inline")
def test_a_trial_sees_the_gpus_of_its_host_by_their_ids_and_no_others(
    build_executor: Callable[[Inventory], Executor], tmp_path: Path
) -> None:
    note = tmp_path / "note"
    python = python_with(tmp_path / "bin", _NOTES_ITS_GPUS.format(note=str(note)))
    trial = dataclasses.replace(noop().trial, device="t4", host_cpu=None)
    on_a_gpu = {"kind": "gpu", "cpus": 1, "devices": 1, "chips": 1, "start_method": "spawn"}
    here = of_host(dataclasses.replace(HERE.host, devices={"t4": held(1)}))
    told = context(tmp_path, pythons={"noop": python})
    [record] = load_records(build_executor(here), told, [placement(trial, **on_a_gpu)], inventory=here)
    assert record.failure.message == "trial asks for a gpu; it ran on a cpu"  # as there is none
    assert note.read_text() == "id-0 PCI_BUS_ID\n"


_NOTES_ITS_THREADS = """
import os, sys
if "orchestrator.train.worker" in sys.orig_argv:
    with open({note!r}, "a") as note:
        print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ["OMP_NUM_THREADS"], file=note)
"""


@pytest.mark.more
def test_each_part_of_a_trial_sees_its_own_gpus_and_has_its_own_threads(tmp_path: Path) -> None:
    note = tmp_path / "note"
    python = python_with(tmp_path / "bin", _NOTES_ITS_THREADS.format(note=str(note)))
    spec = {"device": "cpu", "num_workers": 4, "other_devices": ("t4", "t4", "v100"), "global_batch_size": 64}
    trial = dataclasses.replace(noop().trial, **spec)
    part = RankGroup(device="cpu", kind="cpu", num_processes=1, threads=5, cpus=5, devices=0, chips=0)
    gpu = dataclasses.replace(part, kind="gpu", threads=1, cpus=1, devices=1, chips=1)
    t4 = dataclasses.replace(gpu, device="t4", num_processes=2, cpus=2, devices=2, chips=2)
    v100 = dataclasses.replace(gpu, device="v100")
    mixed = {"num_processes": 4, "replicas": 4, "threads": 5, "cpus": 5, "start_method": "spawn"}
    held_here = {
        "v100": Accelerators(kind="gpu", chips=1, ids=("id-v",)),
        "t4": Accelerators(kind="gpu", chips=1, ids=("id-0", "id-1", "id-2")),
    }
    here = of_host(dataclasses.replace(HERE.host, cpus=8, devices=held_here))
    told = context(tmp_path, pythons={"noop": python})
    asked = placement(trial, **mixed, unequal=(part, t4, v100))
    [record] = load_records(InlineExecutor(here), told, [asked], inventory=here)
    assert record.failure.message == "trial's part on t4 asks for a gpu; it ran on a cpu"  # there is none
    assert sorted(note.read_text().splitlines()) == [" 5", "id-0,id-1 1", "id-0,id-1 1", "id-v 1"]


@pytest.mark.more
def test_what_ray_reads_anew_for_every_trial_names_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tune unpickles its trainable for every trial: with ten thousand in it, 0.3 s of the driver each."""
    from ray import cloudpickle, tune

    pickled: list[bytes] = []

    class Noted(tune.Tuner):
        def __init__(self, trainable: object, **settings: object) -> None:
            pickled.append(cloudpickle.dumps(trainable))
            super().__init__(trainable, **settings)

    monkeypatch.setattr(tune, "Tuner", Noted)
    placements = [noop(seed=seed) for seed in range(2)]
    records = load_records(on_ray(HERE), context(tmp_path), placements)
    assert [record.failure for record in records] == [None, None]
    assert all(placement.trial_id.encode() not in pickled[0] for placement in placements)
