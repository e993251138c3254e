"""(records, prices) -> what was spent, and what an attempt likely costs. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from orchestrator.core.budget import Quote, Rate, Spend
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.spec import trial_id
from orchestrator.plan.prices import Market


def spend_of(record: TrialRecord) -> Spend:
    """What one attempt cost: nothing if it never had its hardware, or if another sweep paid for it."""
    is_infeasible = record.failure is not None and record.failure.kind == "infeasible"
    if is_infeasible or record.reused_from is not None:
        return Spend()
    return _rate(record.placement, record.price).of(record.seconds)


class Quotes:
    """What attempts likely cost.

    An attempt takes the median of those that gave a result of the same setting, other repeats of it; where
    there is none it takes as long as its deadlines let it, which is the most that it can.

    Args:
        records: of any sweep.
    """

    def __init__(self, records: Iterable[TrialRecord], *, market: Market, deadlines: Deadlines) -> None:
        self._market = market
        self._most_seconds = deadlines.start_seconds + deadlines.run_seconds
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._settings: dict[str, str] = {}  # trial_id -> that of the first repeat, which takes a while
        for record in records:
            self.hear(record)

    def hear(self, record: TrialRecord) -> None:
        """Take note of how long an attempt took; a resumed one did a part of it alone."""
        if record.result is not None and not record.result.resumed_from_step:
            self._seconds.setdefault(self._setting(record.placement), []).append(record.seconds)

    def of(self, placement: Placement) -> Quote:
        """What the trial likely costs from its beginning."""
        known = self._seconds.get(self._setting(placement))
        price = self._market.price_of(placement) if placement.provenance == "measured" else None
        return Quote(
            rate=_rate(placement, price),
            seconds=min(median(known), self._most_seconds) if known else self._most_seconds,
            is_measured=bool(known),
        )

    def _setting(self, placement: Placement) -> tuple[str, str]:
        """The same for all repeats."""
        if placement.trial_id not in self._settings:
            self._settings[placement.trial_id] = trial_id(replace(placement.trial, repeat=0))
        return self._settings[placement.trial_id], placement.provenance


def _rate(placement: Placement, price: Price | Unpriced | None) -> Rate:
    return Rate(nodes=placement.num_hosts, price=price if isinstance(price, Price) else None)
