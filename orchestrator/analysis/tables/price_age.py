"""(seller and day of prices) -> that they are old, in words. Pure."""

from collections.abc import Iterable
from datetime import date

from orchestrator.core.price import Price, Unpriced

_OLD_DAYS = 30


def describe_age(prices: Iterable[tuple[str | None, str, str]]) -> str:
    """Name the oldest price that was more than 30 days old when it was looked up; empty: none was.

    Args:
        prices: of each its seller, its day and the day on which it was looked up, as `2026-11-28`.
    """
    old = [
        (as_of, seller)
        for seller, as_of, today in prices
        if (date.fromisoformat(today) - date.fromisoformat(as_of)).days > _OLD_DAYS
    ]
    if not old:
        return ""
    as_of, seller = min(old, key=lambda one: one[0])
    source = f" of {seller}" if seller else ""
    return (
        f"Prices{source} are of {as_of}, more than {_OLD_DAYS} days old; `prices refresh` fetches those of "
        "most sellers, and catalogue=gpuhunt those of gcp."
    )


def describe_age_together(prices: Iterable[Price | Unpriced | None]) -> str:
    """Name the oldest of the prices of trials likewise; those without a price have no age."""
    rows = (row for price in prices if isinstance(price, Price) for row in price.rented)
    return describe_age((row.seller, row.as_of, row.priced_on) for row in rows)
