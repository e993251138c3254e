"""A node of a cluster is killed in the middle of a trial, which goes on elsewhere from its checkpoint."""

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest
from builders import placement, trial_spec
from cluster_values import CPU, cluster, pool
from noop_trials import Unwatched, mission
from plan_values import node
from processes import Family, family
from static_cluster import static_cluster
from trainer_runs import python_of

from orchestrator.core.inventory import of_cluster
from orchestrator.core.settings import Checkpointing, Deadlines
from orchestrator.core.spec import TimingSpec
from orchestrator.execute.base import Attempt
from workloads.data.sources import resolve

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ray", reason="Ray is not installed")

STEPS = 2000  # seconds, for it takes one until the loss of a node is felt
SMALL = {"filters": (4, 8), "dense_units": 16, "learning_rate": 0.02, "momentum": 0.9}
POOL = pool("cpu", device=CPU)


@pytest.fixture
def relatives(monkeypatch: pytest.MonkeyPatch):
    with family(monkeypatch) as started:
        yield started


@pytest.fixture
def two_nodes(relatives: Family, monkeypatch: pytest.MonkeyPatch):
    with static_cluster(POOL, monkeypatch, num_nodes=2) as running:
        yield running


class NodeKiller(Unwatched):
    """Kills the raylet from which the first attempt's worker descends, once a checkpoint is kept."""

    def __init__(self, relatives: Family, checkpoints: Path) -> None:
        self._relatives = relatives
        self._checkpoints = checkpoints

    def started(self, attempt: Attempt) -> None:
        if attempt.number == 1:
            threading.Thread(target=self._strike).start()

    def _strike(self) -> None:
        while not list(self._checkpoints.glob("*/*/meta.json")):
            time.sleep(0.01)
        above = psutil.Process(max(self._relatives.workers())).parents()
        os.kill(next(each.pid for each in above if each.name() == "raylet"), signal.SIGKILL)


def test_a_trial_goes_on_from_its_checkpoint_on_another_node(two_nodes, relatives, tmp_path):
    from orchestrator.execute.ray_tune import RayTuneExecutor

    declared = cluster(POOL, provider="local")
    trial = trial_spec(
        workload_options=SMALL,
        host_cpu="n2-standard-8 x8",
        steps=STEPS,
        timing=TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
    )
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=tmp_path, download=False).path
    told = mission(
        tmp_path,
        data_paths={"synthetic:1": str(data)},
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
        pythons={"torch_ddp": str(python_of("torch_ddp"))},
        retry_limits={"worker_lost": 1},
        checkpointing=Checkpointing(every_seconds=0.1, grace_seconds=20.0, url=str(tmp_path / "checkpoints")),
    )
    records = []
    inventory = of_cluster(declared, host=node(), is_fake=False)
    RayTuneExecutor(inventory, address=two_nodes.address, cluster=declared).run(
        [placement(trial, threads=1, cpus=8, pool="cpu", node="cpu")],
        told,
        keep=records.append,
        watcher=NodeKiller(relatives, tmp_path / "checkpoints"),
    )
    lost, resumed = records
    assert (lost.failure.kind, lost.placement.node) == ("worker_lost", "cpu")
    assert (resumed.failure, resumed.attempt, resumed.provenance) == (None, 2, "measured")
    assert resumed.result.resumed_from_step > 0
    assert resumed.result.steps == STEPS
    (survivor,) = [each for each in two_nodes.worker_nodes if not each.dead_processes()]
    assert resumed.placement.node == f"cpu-{survivor.node_id[-6:]}"
