"""Budget policy of the queue: decides which attempts may start and which must be stopped."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from orchestrator.core.budget import Budget, BudgetStatus, CostEstimate, Spend
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.plan.pricing import PriceBook, priced
from orchestrator.plan.spending import IdleNodes, Quotes, compute_spend


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """Running attempt: estimated cost, start on the clock, and idle cost of nodes booted for it."""

    quote: CostEstimate
    since: float
    owed: Spend

    def spent(self, now: float) -> Spend:
        return self.quote.rate.of(now - self.since) + self.owed

    def committed(self, now: float) -> Spend:
        return self.quote.rate.of(max(now - self.since, self.quote.seconds)) + self.owed


class BudgetTracker:
    """Spending of a sweep, and the caps of its budget. A budget without caps lets every attempt start.

    Args:
        records: records of the sweep so far, from all commands.
        quotes: cost estimates of attempts.
        idle_seconds: idle time after which a node of a pool is removed.
        clock: monotonic seconds.
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
        """Return whether an attempt may start: it and all running attempts likely end within the caps."""
        return not self.format_obstacle(placement)

    def format_obstacle(self, placement: Placement) -> str:
        """Return the cap that an attempt started now would likely exceed; empty: none."""
        return (self._cap_before(placement) or "") if self._budget.is_capped else ""

    def start(self, placement: Placement) -> None:
        """Count an attempt that runs from now on."""
        now, quote = self._clock(), self._quotes.of(placement)
        owed = self._idle.owed(placement, quote.rate, now=now)
        self._idle.take(placement, now=now)
        self._running[placement.trial_id] = _Running(quote=quote, since=now, owed=owed)

    def drop(self, placement: Placement) -> None:
        """Forget an attempt that was never begun."""
        del self._running[placement.trial_id]
        self._stopped.pop(placement.trial_id, None)

    def exclude(self, placement: Placement) -> None:
        """Leave out a trial that exceeds a cap while nothing else runs."""
        cap = self._cap_before(placement)
        assert cap is not None, "it is left out for a cap"
        self._left_out.append((cap, self._quotes.of(placement)))

    def over_budget(self) -> Collection[str]:
        """Return ids of running trials that must stop. A stopped trial stays listed."""
        now = self._clock()
        spent = {trial: attempt.spent(now) for trial, attempt in self._running.items()}
        whole = sum(spent.values(), self._spent + self._idle.spent)
        for trial, own in spent.items():
            beside = Spend(usd=whole.usd - own.usd, node_hours=whole.node_hours - own.node_hours)
            cap = self._budget.passed_by(own, spent=beside, of_trial=self._of_trial.get(trial, Spend()))
            if cap is not None:
                self._stopped.setdefault(trial, cap)
        return self._stopped.keys()

    def with_cause(self, record: TrialRecord) -> TrialRecord:
        """Return the record with the cap as its cause if the attempt was stopped."""
        cap, failure = self._stopped.get(record.trial_id), record.failure
        if cap is None or failure is None or failure.kind != "preempted":
            return record
        return replace(record, failure=Failure(kind="budget", message=f"{failure.message}: {cap} is spent"))

    def end(self, record: TrialRecord) -> None:
        """Count the cost of an attempt that has ended."""
        self._running.pop(record.trial_id, None)
        cap = self._stopped.pop(record.trial_id, None)
        if cap is not None and record.failure is not None and record.failure.kind == "budget":
            self._ended_by.append(cap)
        self._quotes.add(record)
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
        """Return the cap that an attempt started now would likely exceed."""
        now, quote = self._clock(), self._quotes.of(placement)
        committed = (attempt.committed(now) for attempt in self._running.values())
        return self._budget.passed_by(
            quote.spend + self._idle.owed(placement, quote.rate, now=now),
            spent=sum(committed, self._spent + self._idle.spent),
            of_trial=self._of_trial.get(placement.trial_id, Spend()),
        )

    def _book(self, record: TrialRecord) -> None:
        if record.reused_from is not None:
            return
        spend = compute_spend(record)
        self._spent += spend
        self._of_trial[record.trial_id] = self._of_trial.get(record.trial_id, Spend()) + spend
        self._idle.add(record)
        if isinstance(record.price, Price):
            self._is_hypothetical |= record.price.is_hypothetical
        elif record.provenance == "measured":
            self._num_unpriced += 1
