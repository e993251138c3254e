"""(records, prices) -> what was spent, and what an attempt likely costs. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median

from orchestrator.core.budget import CostEstimate, CostRate, Spend
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import point_id
from orchestrator.plan.pricing import PriceBook, node_prices_of


def spend_of(record: TrialRecord) -> Spend:
    """Return the cost of one attempt: zero if it never had its hardware, or if another sweep paid for it."""
    is_infeasible = record.failure is not None and record.failure.kind == "infeasible"
    if is_infeasible or record.reused_from is not None:
        return Spend()
    return _rate(record.placement, record.price).of(record.seconds)


class Quotes:
    """Cost estimates of attempts.

    An attempt takes the median of those that gave a result of the same setting, other repeats of it; where
    no equal trial exists, it takes as long as its deadlines allow, which is an upper bound.

    Args:
        records: records of all sweeps.
    """

    def __init__(
        self, records: Iterable[TrialRecord], *, price_book: PriceBook, deadlines: Deadlines
    ) -> None:
        self._market = price_book
        self._most_seconds = deadlines.start_seconds + deadlines.run_seconds
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._settings: dict[str, str] = {}  # trial_id -> that of the first repeat, which takes a while
        for record in records:
            self.hear(record)

    def hear(self, record: TrialRecord) -> None:
        """Take note of how long an attempt took; a resumed one did a part of it alone."""
        if record.result is not None and not record.result.resumed_from_step:
            self._seconds.setdefault(self._setting(record.placement), []).append(record.seconds)

    def of(self, placement: Placement) -> CostEstimate:
        """Estimate the cost of the trial from its start."""
        seconds = self._seconds.get(self._setting(placement))
        price = self._market.price_of(placement) if placement.provenance == "measured" else None
        return CostEstimate(
            rate=_rate(placement, price),
            seconds=min(median(seconds), self._most_seconds) if seconds else self._most_seconds,
            is_measured=bool(seconds),
        )

    def _setting(self, placement: Placement) -> tuple[str, str]:
        """The same for all repeats."""
        if placement.trial_id not in self._settings:
            self._settings[placement.trial_id] = point_id(placement.trial)
        return self._settings[placement.trial_id], placement.provenance


def _rate(placement: Placement, price: Price | Unpriced | None) -> CostRate:
    return CostRate(nodes=placement.num_hosts, price=price if isinstance(price, Price) else None)


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
        nodes = (placement.node, *placement.other_nodes)
        for node, rate in zip(nodes, _node_rates(placement, record.price), strict=False):
            until = self._busy_until.get(node)
            idle = self._seconds if until is None else max(0.0, record.started_at - until)
            self.spent += rate.of(min(idle, self._seconds))
            self._busy_until[node] = max(record.ended_at, until or 0.0)

    def give_back(self, placement: Placement, *, now: float) -> None:
        """Mark the nodes of a placement as idle from now on."""
        if _is_on_nodes(placement):
            for part in placement.parts:
                self._idle_since.setdefault(str(part.pool), []).append(now)

    def take(self, placement: Placement, *, now: float) -> None:
        """Take idle nodes for a placement, where there are some: those idle longest."""
        for pool, nodes in _nodes_in(placement).items():
            self._idle_since[pool] = self._idle(pool, now=now)[nodes:]

    def owed(self, placement: Placement, rate: CostRate, *, now: float) -> Spend:
        """Return the idle cost of the trial's nodes until its record arrives: past idle time, or that of new
        nodes.
        """
        if not placement.pools or placement.provenance == "rehearsed":
            return Spend()
        idle = {pool: self._idle(pool, now=now) for pool in placement.pools}
        owed = Spend()
        for part, node_rate in zip(placement.parts, _node_rates(placement, rate.price), strict=True):
            since = idle[str(part.pool)]
            owed += node_rate.of(now - since.pop(0) if since else self._seconds)
        return owed

    def _idle(self, pool: str, *, now: float) -> list[float]:
        """Return the idle times of a pool's nodes that still exist."""
        return [since for since in self._idle_since.get(pool, ()) if now - since <= self._seconds]


def _is_on_nodes(placement: Placement) -> bool:
    """Return whether a placement is on nodes of a real pool; before the cluster chooses a node it names its
    pool only.
    """
    return placement.provenance == "measured" and placement.pool not in (None, placement.node)


def _nodes_in(placement: Placement) -> Mapping[str, int]:
    """Pool -> its nodes that the trial has."""
    return Counter(part.pool for part in placement.parts if part.pool is not None)


def _node_rates(placement: Placement, price: object) -> tuple[CostRate, ...]:
    """Return the cost rate of each of its nodes."""
    if not isinstance(price, Price):
        return (CostRate(nodes=1, price=None),) * len(placement.parts)
    return tuple(CostRate(nodes=1, price=node_price) for node_price in node_prices_of(placement, price))
