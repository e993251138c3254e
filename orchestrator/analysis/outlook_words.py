"""How the best of what is predicted would compare with the best of what was measured, in sentences."""

from collections.abc import Iterator, Sequence

from orchestrator.analysis.outlook import Outlook, dollars_in
from orchestrator.analysis.wording import Spread, counted, ratio, spread
from orchestrator.core.wish import Wish


def outlook_in_words(outlooks: Sequence[Outlook], wish: Wish) -> Iterator[str]:
    """One for each job of which something is predicted: by cost if that was asked for, otherwise by time."""
    for each in outlooks:
        if wish.goal == "cheapest":
            yield from _by_cost(each)
        else:
            yield from _by_time(each)


def _by_time(outlook: Outlook) -> Iterator[str]:
    best, *rest = outlook.predicted
    told = f"{best.label} is likely the fastest, with {spread(best.step_seconds, factor=1000)} ms a step"
    rivals = sum(each.samples_per_second.high > best.samples_per_second.low for each in rest)
    but = _but(rivals, "faster")
    if not outlook.measured:
        yield _sentence(outlook, told, but)
        return
    other = outlook.measured[0]
    ahead = _over(best.samples_per_second, other.samples_per_second)
    verdict = _verdict(ahead, "faster")
    yield _sentence(outlook, f"{told}: {verdict} than {other.label}, the fastest {other.known_by}", but)


def _by_cost(outlook: Outlook) -> Iterator[str]:
    priced = [(each.usd_per_million_samples, each) for each in outlook.predicted]
    known = [(usd, each) for usd, each in priced if usd is not None]
    if not known:
        return
    usd, best = min(known, key=lambda pair: pair[0].median)
    rivals = sum(each.low < usd.high for each, one in known if one is not best)
    but = _but(rivals, "cheaper")
    told = f"{best.label} is likely the cheapest, with ${dollars_in(best)} per million samples"
    measured = [(each.usd_per_million_samples, each) for each in outlook.measured]
    others = [(cost, each) for cost, each in measured if cost is not None]
    if not others:
        yield _sentence(outlook, told, but)
        return
    cost, other = min(others, key=lambda pair: pair[0].median)
    verdict = _verdict(_over(cost, usd), "cheaper")
    yield _sentence(outlook, f"{told}: {verdict} than {other.label}, the cheapest {other.known_by}", but)


def _sentence(outlook: Outlook, told: str, but: str) -> str:
    return f"Predicted, not measured, on {outlook.where}: of the devices that are not here {told}.{but}"


def _but(rivals: int, comparative: str) -> str:
    """Of so many whose brackets overlap with those of the best."""
    return f" By the brackets {counted(rivals, 'other')} may be {comparative}." if rivals else ""


def _verdict(ahead: Spread, comparative: str) -> str:
    """`5.49x [2.80, 10.72] faster`; where the interval holds 1, it may be neither."""
    if ahead.high < 1:
        return f"{ratio(ahead)}, not {comparative}"
    return f"{ratio(ahead)} {comparative}" if ahead.low > 1 else f"{ratio(ahead)}, perhaps not {comparative}"


def _over(value: Spread, other: Spread) -> Spread:
    """The ends are those of both together, as if both erred at once: rather too wide than too narrow."""
    return Spread(median=value.median / other.median, low=value.low / other.high, high=value.high / other.low)
