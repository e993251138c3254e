"""Price of a trial's hardware at other sellers than that of the price list. Pure."""

import math
from collections.abc import Callable, Iterable

from orchestrator.core.errors import UnknownNameError
from orchestrator.core.offer import GROUPS, Offer, find_group
from orchestrator.core.price import Price, PriceList, Provisioning


def find_offer_prices(
    device: str,
    count: int,
    *,
    prices: PriceList,
    today: str,
    offers: Iterable[Offer],
    num_hosts: int = 1,
) -> tuple[Price, ...]:
    """Return the price of each seller's cheapest instance that holds the trial.

    An instance may have more devices than the trial needs, and is paid whole. Where none has enough, several
    are rented, as few as possible.
    """
    cheapest: dict[str, Price] = {}
    for offer in offers:
        if offer.device == device and _counts(offer, prices):
            nodes = max(num_hosts, math.ceil(count / offer.count))
            price = _build_price(offer, nodes, count, prices=prices, today=today)
            if price and rank_price(price) < rank_price(cheapest.get(offer.seller)):
                cheapest[offer.seller] = price
    return tuple(cheapest.values())


def rank_price(price: Price | None) -> tuple[float, float]:
    """Return what prices of the same hardware are ordered by: one machine before several, then dollars."""
    return (price.nodes, price.usd_per_hour) if price else (math.inf, math.inf)


def require_known_sellers(prices: PriceList, load_offers: Callable[[], Iterable[Offer]]) -> None:
    """Raise UnknownNameError where the words on prices name a seller or a region that no list has."""
    named = {*(prices.sellers or ()), *prices.discount} - {"all", prices.seller}
    regions = set(prices.offer_regions) - GROUPS.keys()
    offers = tuple(load_offers()) if named or regions else ()
    sellers = {*(offer.seller for offer in offers), *filter(None, (prices.seller,))}
    for seller in sorted(named - sellers):
        raise UnknownNameError("seller", seller, known=sellers)
    known = {offer.region for offer in offers} | GROUPS.keys()
    for region in sorted(regions - known):
        raise UnknownNameError("region in prices.offer_regions:", region, known=known)


def _counts(offer: Offer, prices: PriceList) -> bool:
    regions = prices.offer_regions
    is_there = not regions or offer.region in regions or find_group(offer.region) in regions
    return is_there and offer.seller != prices.seller and prices.includes(offer.seller)


def _build_price(offer: Offer, nodes: int, count: int, *, prices: PriceList, today: str) -> Price | None:
    """Build the price of so many of the instance; None: it is not sold in that way."""
    other: Provisioning = "spot" if prices.provisioning == "on_demand" else "on_demand"
    usd = _find_usd(offer, prices, prices.provisioning)
    if usd is None:
        return None
    return Price(
        prices=prices.name,
        instance=offer.instance,
        nodes=nodes,
        region=offer.region,
        provisioning=prices.provisioning,
        currency=prices.currency,
        node_usd_per_hour=usd,
        as_of=offer.as_of,
        priced_on=today,
        source=offer.source,
        note=describe_discount(prices.find_discount(prices.provisioning, offer.seller)),
        billing_seconds=prices.billing_seconds,
        max_age_days=prices.max_age_days,
        is_hypothetical=True,
        start_seconds=prices.start_seconds,
        other_node_usd_per_hour=_find_usd(offer, prices, other),
        seller=offer.seller,
        unused_devices=nodes * offer.count - count,
    )


def describe_discount(share: float) -> str | None:
    """Format `after a discount of 30%`; None: there is none."""
    return f"after a discount of {100 * share:g}%" if share else None


def _find_usd(offer: Offer, prices: PriceList, provisioning: Provisioning) -> float | None:
    is_spot = provisioning == "spot"
    usd = offer.spot_usd_per_hour if is_spot else offer.on_demand_usd_per_hour
    return None if usd is None else usd * (1 - prices.find_discount(provisioning, offer.seller))
