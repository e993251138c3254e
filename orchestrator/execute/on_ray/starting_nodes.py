"""Nodes that Ray's autoscaler is starting, by the pool that they belong to."""

import contextlib
import time
from collections.abc import Callable, Collection

import ray
from ray.autoscaler.v2.sdk import get_cluster_status

_POLL_SECONDS = 10.0  # a node takes minutes to start
_ANSWER_SECONDS = 2


def starting_pools() -> frozenset[str]:
    """Return the pools of which a node is requested or boots; empty if the autoscaler does not answer.

    The autoscaler's node types have the names of pools.
    """
    with contextlib.suppress(Exception):  # Ray documents no errors, and the deadline holds without an answer
        address = ray.get_runtime_context().gcs_address
        status = get_cluster_status(address, timeout=_ANSWER_SECONDS)
        requested = (launch.ray_node_type_name for launch in status.pending_launches)
        booting = (node.ray_node_type_name for node in status.pending_nodes)
        return frozenset((*requested, *booting))
    return frozenset()


class FirstSigns:
    """Trials of which a node was seen to start, so that their time to wait begins anew, once."""

    def __init__(
        self,
        read: Callable[[], Collection[str]] = starting_pools,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._due = 0.0
        self._pools: Collection[str] = ()
        self._seen: set[str] = set()

    def is_first(self, trial_id: str, pools: Collection[str]) -> bool:
        """Return True once for a trial: when a node of one of its pools starts."""
        if not pools or trial_id in self._seen:
            return False
        if self._clock() >= self._due:
            self._pools, self._due = self._read(), self._clock() + _POLL_SECONDS
        if not set(pools) & set(self._pools):
            return False
        self._seen.add(trial_id)
        return True
