"""Records of trials in pools -> what their nodes cost while they idle. No clock and no cluster."""

from dataclasses import replace

from orchestrator.core.budget import Rate, Spend
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord


class IdleNodes:
    """Nodes of pools, which are billed until they go away.

    What a node idles between two trials is counted when the second one's record comes; what it will idle
    after its last one is owed as soon as it is there.

    Args:
        idle_seconds: after which a node that does nothing goes away.
    """

    def __init__(self, idle_seconds: float) -> None:
        self._seconds = idle_seconds
        self._busy_until: dict[str, float] = {}  # node -> wall clock of its records
        self._idle_since: dict[str, list[float]] = {}  # pool -> of each of its nodes, on the caller's clock
        self.spent = Spend()

    def hear(self, record: TrialRecord) -> None:
        """Take note of a trial that has ended."""
        placement = record.placement
        if not _is_on_nodes(placement):
            return
        for node in (placement.node, *placement.other_nodes):
            until = self._busy_until.get(node)
            idle = self._seconds if until is None else max(0.0, record.started_at - until)
            self.spent += _node_rate(record.price).of(min(idle, self._seconds))
            self._busy_until[node] = max(record.ended_at, until or 0.0)

    def give_back(self, placement: Placement, *, now: float) -> None:
        """Its nodes idle from now on."""
        if placement.pool is not None and _is_on_nodes(placement):
            self._idle_since.setdefault(placement.pool, []).extend([now] * placement.num_hosts)

    def take(self, placement: Placement, *, now: float) -> None:
        """It has nodes that idle, as far as there are some: those that idle longest."""
        if placement.pool is not None:
            self._idle_since[placement.pool] = self._idle(placement.pool, now=now)[placement.num_hosts :]

    def owed(self, placement: Placement, rate: Rate, *, now: float) -> Spend:
        """For nodes of the trial, until its record comes: what they have idled, or will if they are new."""
        if placement.pool is None or placement.provenance == "rehearsed":
            return Spend()
        taken = [now - since for since in self._idle(placement.pool, now=now)[: placement.num_hosts]]
        new = [self._seconds] * (placement.num_hosts - len(taken))
        return sum((_node_rate(rate.price).of(seconds) for seconds in (*taken, *new)), Spend())

    def _idle(self, pool: str, *, now: float) -> list[float]:
        """Those that are still there."""
        return [since for since in self._idle_since.get(pool, ()) if now - since <= self._seconds]


def _is_on_nodes(placement: Placement) -> bool:
    """Of a pool that is no fake; what a cluster has chosen no node for names its pool alone."""
    return placement.provenance == "measured" and placement.pool not in (None, placement.node)


def _node_rate(price: object) -> Rate:
    return Rate(nodes=1, price=replace(price, nodes=1) if isinstance(price, Price) else None)
