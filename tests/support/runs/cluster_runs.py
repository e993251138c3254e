"""Measured trials on the nodes of a real cluster of this host."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import placement, trial_spec
from cluster_builders import CPU, cluster, pool
from noop_trials import Unwatched, context
from plan_builders import node
from queues import queue_for
from trainer_runs import RUNS, python_of

from orchestrator.core.inventory import of_cluster
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.pool import Pool
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Checkpointing, Deadlines
from orchestrator.core.trial_spec import TimingSpec, TrialSpec
from orchestrator.execute.executor import SweepContext
from workloads.data.sources import resolve

POOL = pool("cpu", device=CPU)
LONG = 2000
"""Steps that take seconds: it takes one until the loss of a node is felt."""

_SMALL = {"filters": (4, 8), "dense_units": 16, "learning_rate": 0.02, "momentum": 0.9}
_NODE: Mapping[str, Any] = {"pool": "cpu", "node": "cpu", "cpus": 8}


def one_process(trainer: str, **changes: Any) -> Placement:
    """A measured trial of one; `changes` are those of its spec."""
    return placement(_spec(trainer, **changes), threads=1, **_NODE)


def long_trial() -> Placement:
    """A measured trial of one process under torch_ddp."""
    return one_process("torch_ddp", steps=LONG)


def two_workers(trainer: str, *, num_hosts: int, steps: int = 120, **changes: Any) -> Placement:
    """A measured trial of two replicas, on one node or on two; `changes` are those of its placement."""
    spec = _spec(trainer, num_workers=2, num_hosts=num_hosts, replicas=2, steps=steps)
    processes = num_hosts if trainer == "torch_xla" else 2
    both = {"replicas": 2, "num_processes": processes, "num_hosts": num_hosts}
    return placement(spec, threads=1, **both, **_NODE, **changes)


def _spec(trainer: str, **changes: Any) -> TrialSpec:
    return trial_spec(
        trainer=trainer,
        workload_options={} if trainer == "noop" else _SMALL,
        host_cpu="n2-standard-8 x8",
        timing=TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
        **changes,
    )


class Striker(Unwatched):
    """Strikes once the first attempt has kept a checkpoint in a folder."""

    def __init__(self, checkpoints: Path) -> None:
        self._checkpoints = checkpoints

    def started(self, attempt: Attempt) -> None:
        if attempt.number == 1:
            threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while not list(self._checkpoints.glob("*/*/meta.json")):
            time.sleep(0.01)
        self.strike()

    def strike(self) -> None:
        raise NotImplementedError


def cluster_context(folder: Path, **changes: Any) -> SweepContext:
    """Build a context with a checkpoint at every step and one retry of a lost worker."""
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False).path
    always = Checkpointing(every_seconds=1e-6, grace_seconds=20.0, url=str(folder / "checkpoints"))
    defaults = {
        "data_paths": {"synthetic:1": str(data)},
        "deadlines": Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=300.0),
        "pythons": {name: str(python_of(name).absolute()) for name in (*RUNS, "noop")},
        "checkpointing": always,
        "retry_limits": {"worker_lost": 1},
    }
    return context(folder, **{**defaults, **changes})


def run(
    nodes: Any,
    told: SweepContext,
    *placements: Placement,
    watcher: Unwatched,
    pools: Sequence[Pool] = (POOL,),
) -> list[TrialRecord]:
    """All records of a sweep on that cluster, in the order of their ends."""
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    declared = cluster(*pools, provider="local")
    records: list[TrialRecord] = []
    inventory = of_cluster(declared, host=node(), is_fake=False)
    executor = RayTuneExecutor(inventory, address=nodes.address, cluster=declared)
    executor.run_queue(queue_for(placements, told, inventory), told, watcher, on_record=records.append)
    return records
