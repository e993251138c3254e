"""The story of a budget: what a sweep has spent, what a plan would cost, and who agrees to that."""

from collections.abc import Callable, Mapping, Sequence

from orchestrator.analysis.tables.budget import question, spent_line
from orchestrator.core.budget import Balance
from orchestrator.core.errors import ConfigError
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.execute.scheduling.budget import Account
from orchestrator.plan.pricing import Market
from orchestrator.plan.spending import Quotes

Ask = Callable[[str], bool]
"""Asks a person whether to go on."""


def account_of(
    settings: Settings, ledgers: Mapping[str, Sequence[TrialRecord]], market: Market
) -> Account | None:
    """What this sweep has spent so far; records of every sweep tell what trials likely cost.

    None where nothing is capped and nothing is known to be rented: then nobody needs to know.
    """
    if not settings.budget.is_capped and not settings.may_be_rented:
        return None
    every = (record for records in ledgers.values() for record in records)
    return Account(
        settings.budget,
        records=ledgers.get(settings.sweep.name, ()),
        quotes=Quotes(every, market=market, deadlines=settings.deadlines),
        market=market,
        idle_seconds=settings.cluster.idle_seconds if settings.cluster else 0.0,
    )


def remarks_on(account: Account | None) -> tuple[str, ...]:
    """What to tell after a run: nothing where nothing is capped."""
    if account is None or not account.balance.budget.is_capped:
        return ()
    return (spent_line(account.balance),)


def require_consent(prospect: Balance | None, ask: Ask | None) -> None:
    """Have somebody agree to what a plan likely costs, if it is much.

    Args:
        ask: None where nobody is there to answer.

    Raises:
        ConfigError: nobody is, or does not agree.
    """
    asked = question(prospect) if prospect else None
    if asked is None:
        return
    if ask is None:
        raise ConfigError(f"{asked}; say --yes to run it, or budget.confirm_usd=null")
    if not ask(asked):
        raise ConfigError("not agreed to, so nothing was started")
