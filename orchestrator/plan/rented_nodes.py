"""Price of nodes that are rented by a row of a seller, after its discount. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.price import SHORT, Price, PriceList, PriceRow, Provisioning

_OTHER: Mapping[Provisioning, Provisioning] = {"on_demand": "spot", "spot": "on_demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RentedNodes:
    """Nodes that a trial rents for devices of a name."""

    device: str
    instance: str
    nodes: int
    region: str
    provisioning: Provisioning
    is_hypothetical: bool
    unused_devices: int = 0


def build_price(
    row: PriceRow, rented: RentedNodes, *, seller: str | None, prices: PriceList, today: str
) -> Price | None:
    """Build the price of nodes; None: the row has no price of their provisioning.

    Args:
        today: `2026-11-21`.
    """

    def find_usd(provisioning: Provisioning) -> float | None:
        usd = row.usd_per_hour(provisioning)
        return None if usd is None else usd * (1 - prices.find_discount(provisioning, seller))

    usd, share = find_usd(rented.provisioning), prices.find_discount(rented.provisioning, seller)
    if usd is None:
        return None
    discount = f"after a discount of {100 * share:g}%" if share else None
    is_short = rented.region in prices.short.get(rented.device, ())
    short = f"{SHORT}prices.short names {rented.region}" if is_short else None
    return Price(
        prices=prices.name,
        instance=rented.instance,
        nodes=rented.nodes,
        region=rented.region,
        provisioning=rented.provisioning,
        currency=prices.currency,
        node_usd_per_hour=usd,
        as_of=row.as_of,
        priced_on=today,
        source=row.source,
        note="; ".join(filter(None, (row.note, discount, short))) or None,
        billing_seconds=prices.billing_seconds,
        max_age_days=prices.max_age_days,
        is_hypothetical=rented.is_hypothetical,
        start_seconds=prices.start_seconds,
        interruptions_per_day=prices.interruptions_per_day,
        other_node_usd_per_hour=find_usd(_OTHER[rented.provisioning]),
        seller=seller,
        unused_devices=rented.unused_devices,
    )
