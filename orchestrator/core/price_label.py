"""A price in words: what is rented, where, for how much, and what is to know of it. Pure."""

from orchestrator.core.offer import MARKETPLACES
from orchestrator.core.price import SHORT, Price

LISTED = {"hypothetical": "list price"}
"""Mark of a price -> its words beside a price; that dollars are hypothetical is shown once."""


def priced_as(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand in gcp us-central1, $0.73/h of 2026-08-20`, with marks.

    Each price that stands beside it is a further sentence.
    """
    parts = (
        f"{rented(price)} in {find_regions(price)}",
        f"${price.usd_per_hour:g}/h of {find_oldest(price)}",
        *(LISTED.get(mark, mark) for mark in find_marks(price)),
    )
    return ". Elsewhere ".join((", ".join(parts), *map(priced_as, price.elsewhere)))


def rented(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand`, `3 x v3-8 spot`, and so on for each kind of node."""
    return " + ".join(map(_describe_nodes, price.rented))


def _describe_nodes(row: Price) -> str:
    devices = "device" if row.unused_devices == 1 else "devices"
    unused = f" with {row.unused_devices} unused {devices}" if row.unused_devices else ""
    return f"{describe_machines(row)} {row.provisioning.replace('_', ' ')}{unused}"


def describe_machines(price: Price) -> str:
    """Format `n1-standard-8+1xT4`, `3 x v3-8`, without other kinds of nodes."""
    return f"{price.nodes} x {price.instance}" if price.nodes > 1 else price.instance


def find_regions(price: Price) -> str:
    """Return the regions of a price's nodes with their sellers, each once: `gcp us-central1`."""
    return ", ".join(dict.fromkeys(" ".join(filter(None, (row.seller, row.region))) for row in price.rented))


def find_oldest(price: Price) -> str:
    """Return the day of the oldest of its figures."""
    return min(row.as_of for row in price.rented)


def find_marks(price: Price) -> tuple[str, ...]:
    """Return the marks that separate a cost from others: `hypothetical`, `old` and the like."""
    marks = {
        "hypothetical": price.is_hypothetical,
        "old": price.is_old,
        "re-priced": price.is_repriced,
        "reserved": price.is_reserved,
        "marketplace": any(row.seller in MARKETPLACES for row in price.rented),
        "short": any(SHORT in (row.note or "") for row in price.rented),
    }
    return tuple(mark for mark, holds in marks.items() if holds)
