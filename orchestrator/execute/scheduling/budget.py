"""Budget policy of the queue: decides which attempts may start and which must be stopped."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from orchestrator.core.budget import Budget, BudgetStatus, CostEstimate, Spend
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.plan.pricing import PriceBook, priced
from orchestrator.plan.spending import IdleNodes, Quotes, spend_of


class BudgetPolicy(Protocol):
    """Tells the queue what there is money and time for."""

    def can_start(self, placement: Placement) -> bool:
        """Return whether an attempt may start: all running attempts and this one likely end within the
        caps.
        """

    def start(self, placement: Placement) -> None:
        """Take note of an attempt that runs from now on."""

    def drop(self, placement: Placement) -> None:
        """Take note that an attempt was never begun."""

    def exclude(self, placement: Placement) -> None:
        """Take note of a trial that no longer waits, for nothing runs that could end cheaper than thought."""

    def over_budget(self) -> Collection[str]:
        """The trials that run and must leave, for a cap is passed."""

    def with_cause(self, record: TrialRecord) -> TrialRecord:
        """The record of an attempt, which says so if it was made to leave."""

    def end(self, record: TrialRecord) -> None:
        """Take note of an attempt that has ended."""


class _NoBudget:
    """Budget without caps."""

    def can_start(self, placement: Placement) -> bool:  # noqa: ARG002  # anything
        """Always."""
        return True

    def start(self, placement: Placement) -> None:
        """Ignore the start."""

    def drop(self, placement: Placement) -> None:
        """Ignore the drop."""

    def exclude(self, placement: Placement) -> None:
        """Never happens."""

    def over_budget(self) -> Collection[str]:
        """None."""
        return ()

    def with_cause(self, record: TrialRecord) -> TrialRecord:
        """Return the record unchanged."""
        return record

    def end(self, record: TrialRecord) -> None:
        """Ignore the end."""


NO_BUDGET = _NoBudget()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """An attempt, since when it runs, and what nodes that came up for it will idle."""

    quote: CostEstimate
    since: float
    owed: Spend

    def spent(self, now: float) -> Spend:
        return self.quote.rate.of(now - self.since) + self.owed

    def committed(self, now: float) -> Spend:
        return self.quote.rate.of(max(now - self.since, self.quote.seconds)) + self.owed


class BudgetTracker:
    """A purse with a budget, and what is held against it.

    Args:
        records: of the sweep so far, whichever command made them.
        quotes: what attempts likely cost.
        idle_seconds: after which a node of a pool goes away.
        clock: seconds, never backwards.
    """

    def __init__(
        self,
        budget: Budget,
        *,
        records: Iterable[TrialRecord],
        quotes: Quotes,
        price_book: PriceBook,
        idle_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budget = budget
        self._quotes = quotes
        self._market = price_book
        self._clock = clock
        self._idle = IdleNodes(idle_seconds)
        self._spent = Spend()
        self._of_trial: dict[str, Spend] = {}
        self._running: dict[str, _Running] = {}
        self._stopped: dict[str, str] = {}  # trial_id -> the cap
        self._left_out: list[tuple[str, CostEstimate]] = []
        self._ended_by: list[str] = []
        self._num_unpriced = 0
        self._is_hypothetical = False
        for record in records:
            self._book(record)

    def can_start(self, placement: Placement) -> bool:
        """Return whether an attempt may start, as `BudgetPolicy.can_start`."""
        return self._cap_before(placement) is None

    def start(self, placement: Placement) -> None:
        """Count a start, as `BudgetPolicy.start`."""
        now, quote = self._clock(), self._quotes.of(placement)
        owed = self._idle.owed(placement, quote.rate, now=now)
        self._idle.take(placement, now=now)
        self._running[placement.trial_id] = _Running(quote=quote, since=now, owed=owed)

    def drop(self, placement: Placement) -> None:
        """Forget a start, as `BudgetPolicy.drop`."""
        del self._running[placement.trial_id]
        self._stopped.pop(placement.trial_id, None)

    def exclude(self, placement: Placement) -> None:
        """Leave a trial out, as `BudgetPolicy.exclude`."""
        cap = self._cap_before(placement)
        assert cap is not None, "it is left out for a cap"
        self._left_out.append((cap, self._quotes.of(placement)))

    def over_budget(self) -> Collection[str]:
        """Return trials over a cap, as `BudgetPolicy.over_budget`; an attempt that was stopped stays in the
        list.
        """
        now = self._clock()
        spent = {trial: holding.spent(now) for trial, holding in self._running.items()}
        whole = sum(spent.values(), self._spent + self._idle.spent)
        for trial, own in spent.items():
            beside = Spend(usd=whole.usd - own.usd, node_hours=whole.node_hours - own.node_hours)
            cap = self._budget.passed_by(own, spent=beside, of_trial=self._of_trial.get(trial, Spend()))
            if cap is not None:
                self._stopped.setdefault(trial, cap)
        return self._stopped.keys()

    def with_cause(self, record: TrialRecord) -> TrialRecord:
        """Add the cause, as `BudgetPolicy.with_cause`; workers know only that they were stopped."""
        cap, failure = self._stopped.get(record.trial_id), record.failure
        if cap is None or failure is None or failure.kind != "preempted":
            return record
        told = Failure(kind="budget", message=f"{failure.message}: {cap} is spent")
        return replace(record, failure=told)

    def end(self, record: TrialRecord) -> None:
        """Count the end of an attempt, as `BudgetPolicy.end`."""
        self._running.pop(record.trial_id, None)
        cap = self._stopped.pop(record.trial_id, None)
        if cap is not None and record.failure is not None and record.failure.kind == "budget":
            self._ended_by.append(cap)
        self._quotes.hear(record)
        self._idle.give_back(record.placement, now=self._clock())
        self._book(priced(record, self._market))

    @property
    def balance(self) -> BudgetStatus:
        """Money and time spent, and trials left out."""
        return BudgetStatus(
            budget=self._budget,
            spent=self._spent + self._idle.spent,
            left_out=tuple(self._left_out),
            stopped=tuple(self._ended_by),
            num_unpriced=self._num_unpriced,
            is_hypothetical=self._is_hypothetical,
        )

    def forecast(self, placements: Iterable[Placement]) -> BudgetStatus:
        """Forecast the budget status after trials that run one after the other, each at its estimated
        cost.
        """
        quotes, left_out = [], []
        spent = self._spent + self._idle.spent
        for placement in placements:
            quote = self._quotes.of(placement)
            of_trial = self._of_trial.get(placement.trial_id, Spend())
            cap = self._budget.passed_by(quote.spend, spent=spent, of_trial=of_trial)
            if cap is None:
                quotes.append(quote)
                spent += quote.spend
            else:
                left_out.append((cap, quote))
        return replace(self.balance, quotes=tuple(quotes), left_out=tuple(left_out))

    def _cap_before(self, placement: Placement) -> str | None:
        """The cap that an attempt which starts now would likely pass."""
        now, quote = self._clock(), self._quotes.of(placement)
        committed = (holding.committed(now) for holding in self._running.values())
        return self._budget.passed_by(
            quote.spend + self._idle.owed(placement, quote.rate, now=now),
            spent=sum(committed, self._spent + self._idle.spent),
            of_trial=self._of_trial.get(placement.trial_id, Spend()),
        )

    def _book(self, record: TrialRecord) -> None:
        if record.reused_from is not None:
            return
        spend = spend_of(record)
        self._spent += spend
        self._of_trial[record.trial_id] = self._of_trial.get(record.trial_id, Spend()) + spend
        self._idle.hear(record)
        if isinstance(record.price, Price):
            self._is_hypothetical |= record.price.is_hypothetical
        elif record.provenance == "measured":
            self._num_unpriced += 1
