"""Budget status of a sweep in sentences. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.analysis.formatting import about, counted, duration_parts, number
from orchestrator.core.budget import BudgetStatus, CostEstimate, KnownBy
from orchestrator.core.interval import add_spreads, exactly


def spent_line(balance: BudgetStatus) -> str:
    """Describe after a run: money spent, trials left out for the budget, and the override that runs them."""
    return f"budget: {', '.join([_spent(balance), *_not_run(balance)])}{_more_budget(balance)}"


def prospect_line(balance: BudgetStatus) -> str:
    """Describe before a run: money spent, the likely cost, and trials that would be left out."""
    run = _likely(balance.quotes)
    return f"budget: {_spent(balance)}; {', '.join([run, *_not_run(balance)])}{_more_budget(balance)}"


_KNOWN_BY: dict[KnownBy, str] = {
    "measured": "as trials of the same setting took",
    "rehearsed": "as rehearsals of the same setting took",
    "predicted": "predicted",
    "compiled": "compiled",
}


def expected_line(quotes: Sequence[CostEstimate]) -> str:
    """Describe what trials, at least one, likely take and cost, apart by how that is known.

    `time and cost: about 3.1 min (2.9 to 3.3) and $0.020, one trial after the other: 8 trials …`.
    """
    known = [(quote, quote.expected) for quote in quotes if quote.expected is not None]
    unknown = [quote for quote in quotes if quote.expected is None]
    parts = [part for known_by in _KNOWN_BY for part in _parts_known_by(known_by, quotes)]
    if unknown:
        most, *_ = duration_parts(exactly(sum(quote.seconds for quote in unknown)), digits=2)
        usd = _priced([(quote, quote.seconds) for quote in unknown])
        parts.append(
            f"{counted(len(unknown), 'trial')} of unknown time, as nothing like it ran; "
            f"usually far below the time limit, {most}{usd}"
        )
    first = []
    if known:
        usd = _priced([(quote, expected.median) for quote, expected in known])
        first = [
            f"about {about(add_spreads(expected for _, expected in known))}{usd}, one trial after the other"
        ]
    return f"time and cost: {': '.join([*first, '; '.join(parts)])}"


def _parts_known_by(known_by: KnownBy, quotes: Sequence[CostEstimate]) -> Iterator[str]:
    """Yield the time of the trials that are known so, those without their set-up last."""
    for is_without_setup in (False, True):
        spreads = [
            quote.expected
            for quote in quotes
            if quote.expected and (quote.known_by, quote.is_without_setup) == (known_by, is_without_setup)
        ]
        if spreads:
            setup = ", set-up not included" if is_without_setup else ""
            time = about(add_spreads(spreads))
            yield f"{counted(len(spreads), 'trial')} {time} {_KNOWN_BY[known_by]}{setup}"


def _priced(timed: Sequence[tuple[CostEstimate, float]]) -> str:
    """` and $0.02 at list price`; empty where nothing has a price."""
    prices = [quote.rate.price for quote, _ in timed if quote.rate.price]
    if not prices:
        return ""
    marks = " at list price" if any(price.is_hypothetical for price in prices) else ""
    usd = sum(quote.rate.of(seconds).usd for quote, seconds in timed)
    return f" and ${number(usd, digits=2)}{marks}"


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
    return f"{counted(len(quotes), 'trial')} likely {cost} {_compute_cost(quotes)}"


def _compute_cost(quotes: Sequence[CostEstimate]) -> str:
    hours = sum(quote.spend.node_hours for quote in quotes)
    unknown = sum(not quote.is_recorded for quote in quotes)
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
    return [*stopped, left_out, f"the cheapest of which likely costs {_compute_cost([cheapest])}"]


def _more_budget(balance: BudgetStatus) -> str:
    """`; the same command with a larger budget.usd runs the rest`, if there is a rest."""
    caps = dict.fromkeys(
        name.partition("=")[0] for name in (*balance.stopped, *(cap for cap, _ in balance.left_out))
    )
    return f"; the same command with a larger {' and '.join(caps)} runs the rest" if caps else ""


def _usd(quotes: Iterable[CostEstimate]) -> float:
    return sum(quote.spend.usd for quote in quotes)
