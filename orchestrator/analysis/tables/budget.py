"""Budget status of a sweep in sentences. Pure."""

from collections.abc import Iterable, Sequence

from orchestrator.analysis.formatting import counted, number
from orchestrator.core.budget import BudgetStatus, CostEstimate


def spent_line(balance: BudgetStatus) -> str:
    """Describe after a run: money spent, trials left out for the budget, and the override that runs them."""
    return f"budget: {', '.join([_spent(balance), *_not_run(balance)])}{_more_budget(balance)}"


def prospect_line(balance: BudgetStatus) -> str:
    """Describe before a run: money spent, the likely cost, and trials that would be left out."""
    run = _likely(balance.quotes)
    return f"budget: {_spent(balance)}; {', '.join([run, *_not_run(balance)])}{_more_budget(balance)}"


def question(balance: BudgetStatus) -> str | None:
    """Return the question asked before a large expense, if one is due. Hypothetical prices are never asked
    about.
    """
    rented = [quote for quote in balance.quotes if quote.rate.price and not quote.rate.price.is_hypothetical]
    usd, limit = _usd(rented), balance.budget.confirm_usd
    if limit is None or usd <= limit:
        return None
    return f"{_likely(rented)}, above budget.confirm_usd={limit:g}"


def _spent(balance: BudgetStatus) -> str:
    budget, spent = balance.budget, balance.spent
    of_usd = f" of ${budget.usd:g}" if budget.usd is not None else ""
    of_hours = f" of {budget.hours:g}" if budget.hours is not None else ""
    hypothetical = " (hypothetical)" if balance.is_hypothetical else ""
    unpriced = f", {counted(balance.num_unpriced, 'attempt')} without a price" if balance.num_unpriced else ""
    return (
        f"${number(spent.usd)}{of_usd}{hypothetical} and {number(spent.node_hours)}{of_hours} node-hours "
        f"spent{unpriced}"
    )


def _likely(quotes: Sequence[CostEstimate]) -> str:
    """`15 trials likely cost $3.200 for 1.500 node-hours`, and what that stands on."""
    cost = "costs" if len(quotes) == 1 else "cost"
    return f"{counted(len(quotes), 'trial')} likely {cost} {_cost_of(quotes)}"


def _cost_of(quotes: Sequence[CostEstimate]) -> str:
    hours = sum(quote.spend.node_hours for quote in quotes)
    unknown = sum(not quote.is_measured for quote in quotes)
    which = f"{unknown:,} up to their" if len(quotes) > 1 else "up to its"
    basis = f" ({which} deadlines: nothing like it was measured)" if unknown else ""
    return f"${number(_usd(quotes))} for {number(hours)} node-hours{basis}"


def _not_run(balance: BudgetStatus) -> list[str]:
    """Trials that were stopped, and those that were not started."""
    stopped = [f"{counted(len(balance.stopped), 'trial')} stopped"] if balance.stopped else []
    quotes = [quote for _, quote in balance.left_out]
    if not quotes:
        return [*stopped, "none left out"]
    cheapest = min(quotes, key=lambda quote: (quote.spend.usd, quote.spend.node_hours))
    left_out = f"{counted(len(quotes), 'trial')} left out"
    return [*stopped, left_out, f"the cheapest of which likely costs {_cost_of([cheapest])}"]


def _more_budget(balance: BudgetStatus) -> str:
    """`; the same command with a larger budget.usd runs the rest`, if there is a rest."""
    caps = dict.fromkeys(name.partition("=")[0] for name in _caps_met(balance))
    return f"; the same command with a larger {' and '.join(caps)} runs the rest" if caps else ""


def _caps_met(balance: BudgetStatus) -> Iterable[str]:
    return (*balance.stopped, *(cap for cap, _ in balance.left_out))


def _usd(quotes: Iterable[CostEstimate]) -> float:
    return sum(quote.spend.usd for quote in quotes)
