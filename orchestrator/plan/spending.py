"""(records, prices) -> what was spent, and what an attempt likely costs. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import median

from orchestrator.core.budget import CostEstimate, CostRate, Spend
from orchestrator.core.estimate import Estimate
from orchestrator.core.interval import Spread
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TrialSpec, point_id
from orchestrator.plan.pricing import PriceBook, find_node_prices

StepOf = Callable[[Placement], Estimate | None]
"""Predicts the step of a trial; None: nothing predicts it."""


def compute_spend(record: TrialRecord) -> Spend:
    """Return the cost of one attempt: zero if it never had its hardware, or if another sweep paid for it."""
    is_infeasible = record.failure is not None and record.failure.kind == "infeasible"
    if is_infeasible or record.reused_from is not None:
        return Spend()
    return _rate(record.placement, record.price).of(record.seconds)


class Quotes:
    """Cost estimates of attempts.

    An attempt takes the median of those that gave a result of the same setting, other repeats of it.
    Where no equal trial exists, a cap counts as long as its deadlines allow, which is an upper bound; it
    likely takes its predicted steps, and what trials of its trainer took beside their steps.

    Args:
        records: records of all sweeps.
        predict_step: predicts steps of trials that nothing equal was measured of.
    """

    def __init__(
        self,
        records: Iterable[TrialRecord],
        *,
        price_book: PriceBook,
        deadlines: Deadlines,
        predict_step: StepOf = lambda _: None,
    ) -> None:
        self._market = price_book
        self._most_seconds = deadlines.start_seconds + deadlines.run_seconds
        self._compute_step = predict_step
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._besides: dict[str, list[float]] = {}  # trainer -> seconds beside the steps of its trials
        self._settings: dict[str, str] = {}  # trial_id -> that of the first repeat, which takes a while
        for record in records:
            self.add(record)

    def add(self, record: TrialRecord) -> None:
        """Take note of how long an attempt took; a resumed one did a part of it alone."""
        result = record.result
        if result is None or result.resumed_from_step:
            return
        self._seconds.setdefault(self._setting(record.placement), []).append(record.seconds)
        if record.provenance == "measured":
            stepping = result.training_seconds - result.first_step_seconds
            self._besides.setdefault(record.spec.trainer, []).append(max(0.0, record.seconds - stepping))

    def of(self, placement: Placement) -> CostEstimate:
        """Estimate the cost of the trial from its start."""
        return replace(self._estimate(placement), is_rented=bool(placement.pools))

    def _estimate(self, placement: Placement) -> CostEstimate:
        price = self._market.find_price(placement) if placement.provenance == "measured" else None
        rate, seconds = _rate(placement, price), self._seconds.get(self._setting(placement))
        if seconds:
            likely = min(median(seconds), self._most_seconds)
            expected = Spread(median=likely, low=min(likely, *seconds), high=max(likely, *seconds))
            return CostEstimate(rate=rate, seconds=likely, known_by=placement.provenance, expected=expected)
        step = (
            self._compute_step(placement) if placement.provenance == "measured" and placement.trains else None
        )
        if step is None:
            return CostEstimate(rate=rate, seconds=self._most_seconds, known_by="deadline")
        besides = self._besides.get(placement.trial.trainer, ())
        return CostEstimate(
            rate=rate,
            seconds=self._most_seconds,
            known_by=step.provenance,
            expected=_expected(placement.trial, step, beside=median(besides) if besides else 0.0),
            is_without_setup=not besides,
        )

    def _setting(self, placement: Placement) -> tuple[str, str]:
        """The same for all repeats."""
        trial, trial_id = placement.trial, placement.trial_id
        if trial_id not in self._settings:
            self._settings[trial_id] = point_id(trial) if trial.repeat else trial_id
        return self._settings[trial_id], placement.provenance


def _expected(trial: TrialSpec, step: Estimate, *, beside: float) -> Spread:
    """Add up a trial's steps and what it takes beside them; a target may end it after the least steps."""
    least = trial.timing.least_steps if trial.timing.target else trial.steps
    return Spread(
        median=beside + trial.steps * step.likely,
        low=beside + least * step.low,
        high=beside + trial.steps * step.high,
    )


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

    def add(self, record: TrialRecord) -> None:
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
        pools = Counter(part.pool for part in placement.parts if part.pool is not None)
        for pool, nodes in pools.items():
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


def _node_rates(placement: Placement, price: object) -> tuple[CostRate, ...]:
    """Return the cost rate of each of its nodes."""
    if not isinstance(price, Price):
        return (CostRate(nodes=1, price=None),) * len(placement.parts)
    return tuple(CostRate(nodes=1, price=node_price) for node_price in find_node_prices(placement, price))
