"""A price in words: what is rented, where, for how much, and what is to know of it. Pure."""

from orchestrator.core.price import Price

LISTED = {"hypothetical": "list price"}
"""Mark of a price -> its words beside a price; that dollars are hypothetical is shown once."""


def priced_as(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand in us-central1, $0.73/h of 2026-08-20`, and its marks."""
    parts = (
        f"{rented(price)} in {find_regions(price)}",
        f"${price.usd_per_hour:g}/h of {find_oldest(price)}",
        *(LISTED.get(mark, mark) for mark in find_marks(price)),
    )
    return ", ".join(parts)


def rented(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand`, `3 x v3-8 spot`, and so on for each kind of node."""
    return " + ".join(
        f"{f'{row.nodes} x ' if row.nodes > 1 else ''}{row.instance} {row.provisioning.replace('_', ' ')}"
        for row in price.rented
    )


def find_regions(price: Price) -> str:
    """Return the regions of a price's nodes, each once."""
    return ", ".join(dict.fromkeys(row.region for row in price.rented))


def find_oldest(price: Price) -> str:
    """Return the day of the oldest of its figures."""
    return min(row.as_of for row in price.rented)


def find_marks(price: Price) -> tuple[str, ...]:
    """Return the marks that separate a cost from others: `hypothetical`, `old`, `re-priced`."""
    marks = {"hypothetical": price.is_hypothetical, "old": price.is_old, "re-priced": price.is_repriced}
    return tuple(mark for mark, holds in marks.items() if holds)
