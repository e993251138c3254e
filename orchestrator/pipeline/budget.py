"""Budget of a sweep: spending so far, cost of a plan, and consent to spend it."""

from collections.abc import Callable, Mapping, Sequence

from orchestrator.analysis.tables.budget import question, spent_line
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.errors import ConfigError
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.spending import Quotes, StepOf

Confirm = Callable[[str], bool]
"""Asks a person whether to continue."""


def build_budget_tracker(
    settings: Settings,
    ledgers: Mapping[str, Sequence[TrialRecord]],
    price_book: PriceBook,
    *,
    predict_step: StepOf = lambda _: None,
) -> BudgetTracker:
    """Build the tracker from the sweep's spending. Records of all sweeps give the cost estimates.

    Args:
        predict_step: as for `Quotes`; what caps count does not depend on it.
    """
    all_records = (record for records in ledgers.values() for record in records)
    return BudgetTracker(
        settings.budget,
        records=ledgers.get(settings.sweep.name, ()),
        quotes=Quotes(
            all_records, price_book=price_book, deadlines=settings.deadlines, predict_step=predict_step
        ),
        price_book=price_book,
        idle_seconds=settings.cluster.idle_seconds if settings.cluster else 0.0,
    )


def remarks_on(budget_tracker: BudgetTracker) -> tuple[str, ...]:
    """Return the remarks after a run; none without caps."""
    if not budget_tracker.balance.budget.is_capped:
        return ()
    return (spent_line(budget_tracker.balance),)


def require_consent(prospect: BudgetStatus, confirm: Confirm | None) -> None:
    """Ask a person to confirm the likely cost of a plan, if it exceeds `budget.confirm_usd`.

    Args:
        confirm: None where no person can answer.

    Raises:
        ConfigError: no person can answer, or the answer is no.
    """
    text = question(prospect)
    if text is None:
        return
    if confirm is None:
        raise ConfigError(f"{text}; add --yes to run it, or set budget.confirm_usd=null")
    if not confirm(text):
        raise ConfigError("not confirmed, so nothing was started")
