"""A node of a cluster is killed in the middle of a trial, which goes on elsewhere from its checkpoint."""

from pathlib import Path

import psutil
import pytest
from cluster_runs import LONG, Striker, cluster_context, long_trial, run
from process_tracking import Family
from static_cluster import raylet_above

from orchestrator.core.settings import Checkpointing

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ray", reason="Ray is not installed")


class NodeKiller(Striker):
    """Kills the raylet from which the first attempt's worker descends."""

    def __init__(self, relatives: Family, checkpoints: Path) -> None:
        super().__init__(checkpoints)
        self._relatives = relatives

    def strike(self) -> None:
        raylet_above(psutil.Process(max(self._relatives.workers()))).kill()


def test_a_trial_goes_on_from_its_checkpoint_on_another_node(nodes, relatives, tmp_path):
    often = Checkpointing(every_seconds=0.1, grace_seconds=20.0, url=str(tmp_path / "checkpoints"))
    told = cluster_context(tmp_path, checkpointing=often)
    killer = NodeKiller(relatives, tmp_path / "checkpoints")
    lost, resumed = run(nodes, told, long_trial(), watcher=killer)
    assert (lost.failure.kind, lost.placement.node) == ("worker_lost", "cpu")
    assert (resumed.failure, resumed.attempt, resumed.provenance) == (None, 2, "measured")
    assert resumed.result.resumed_from_step > 0
    assert resumed.result.steps == LONG
    (survivor,) = [node for node in nodes.worker_nodes if not node.dead_processes()]
    assert resumed.placement.node == f"cpu-{survivor.node_id[-6:]}"
