"""A node of a cluster is wanted back: its trial leaves a checkpoint in time, and goes on elsewhere."""

import threading
import time

import psutil
import pytest
from cluster_runs import cluster_context, long_trial, run
from noop_trials import Unwatched
from process_tracking import Family, heeds_sigterm
from static_cluster import node_id_of, raylet_above

from orchestrator.core.placement import Attempt
from orchestrator.core.settings import Checkpointing

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ray", reason="Ray is not installed")

GRACE_SECONDS = 60.0


class Drainer(Unwatched):
    """Tells Ray that the node of the first attempt's worker goes, once that worker heeds a notice."""

    def __init__(self, relatives: Family, address: str) -> None:
        self._relatives = relatives
        self._address = address
        self.drained = ""
        self.goes_at = 0.0

    def started(self, attempt: Attempt) -> None:
        if attempt.number == 1:
            threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        from ray._raylet import GcsClient
        from ray.core.generated.autoscaler_pb2 import DRAIN_NODE_REASON_PREEMPTION

        while not any(map(heeds_sigterm, self._relatives.workers())):
            time.sleep(0.01)
        (worker,) = self._relatives.workers()
        self.drained = node_id_of(raylet_above(psutil.Process(worker)))
        self.goes_at = time.time() + GRACE_SECONDS
        goes_at_ms = int(self.goes_at * 1000)
        client = GcsClient(address=self._address)
        client.drain_node(self.drained, DRAIN_NODE_REASON_PREEMPTION, "wanted back", goes_at_ms)


def test_a_trial_leaves_a_checkpoint_in_time_and_goes_on_on_another_node(nodes, relatives, tmp_path):
    seldom = Checkpointing(every_seconds=300.0, grace_seconds=20.0, url=str(tmp_path / "checkpoints"))
    told = cluster_context(tmp_path, checkpointing=seldom, retry_limits={"preempted": 1})
    drainer = Drainer(relatives, nodes.address)
    left, resumed = run(nodes, told, long_trial(), watcher=drainer)
    assert (left.failure.kind, left.provenance) == ("preempted", "measured")
    assert left.ended_at < drainer.goes_at
    assert left.placement.node == f"cpu-{drainer.drained[-6:]}"
    assert (resumed.failure, resumed.attempt) == (None, 2)
    assert resumed.result.resumed_from_step > 0
    assert resumed.placement.node not in ("cpu", left.placement.node)
