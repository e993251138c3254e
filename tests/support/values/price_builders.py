"""Small real price lists, with defaults, so that a test shows only what matters to it."""

from dataclasses import replace
from typing import Any

from orchestrator.core.price import Price, PriceList, PriceRow
from orchestrator.plan.offer import Offer


def price_row(on_demand: float | None = 3.0, spot: float | None = 1.0, **changes: Any) -> PriceRow:
    """3 USD an hour on demand and 1 as spot, of the first of September."""
    base = PriceRow(
        on_demand_usd_per_hour=on_demand, spot_usd_per_hour=spot, as_of="2026-09-01", source="a price list"
    )
    return replace(base, **changes)


def price_list(**changes: Any) -> PriceList:
    """One region with a box for CPUs, and boxes with one, two and four T4, all at 3 USD an hour."""
    boxes = ("cpu-box", "t4-box", "2xt4-box", "4xt4-box")
    base = PriceList(
        name="example",
        region="here",
        provisioning="on_demand",
        currency="USD",
        billing_seconds=1.0,
        max_age_days=90,
        this_host=None,
        confirmed_spot=(),
        rows={"here": {box: price_row() for box in boxes}},
    )
    return replace(base, **changes)


def price(**changes: Any) -> Price:
    """A box for CPUs at 3.60 USD an hour, which is a tenth of a cent a second, looked up on 2026-09-22."""
    base = Price(
        prices="example",
        instance="cpu-box",
        nodes=1,
        region="here",
        provisioning="on_demand",
        currency="USD",
        node_usd_per_hour=3.6,
        as_of="2026-09-01",
        priced_on="2026-09-22",
        source="a price list",
        note=None,
        billing_seconds=1.0,
        max_age_days=90,
        is_hypothetical=False,
    )
    return replace(base, **changes)


def offer(usd: float | None = 2.0, spot: float | None = None, **changes: Any) -> Offer:
    """One T4 of a shop, of the first of September."""
    base = Offer(
        seller="shop",
        instance="shop-t4",
        region="us-east-1",
        zone=None,
        device="t4",
        count=1,
        on_demand_usd_per_hour=usd,
        spot_usd_per_hour=spot,
        as_of="2026-09-01",
        source="a catalogue",
    )
    return replace(base, **changes)
