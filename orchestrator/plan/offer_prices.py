"""Price of a trial's hardware at other sellers than that of the price list. Pure."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from orchestrator.core.errors import UnknownNameError
from orchestrator.core.price import MARKETPLACES, Price, PriceList
from orchestrator.plan.offer import GROUPS, Offer, find_group
from orchestrator.plan.rented_nodes import RentedNodes, build_price


def find_offer_prices(
    device: str,
    count: int,
    offers: Iterable[Offer],
    *,
    prices: PriceList,
    today: str,
    num_hosts: int,
    rank: Callable[[Price], tuple[float, ...]],
) -> tuple[Price, ...]:
    """Return the price of each seller's cheapest instance that holds the trial.

    An instance may have more devices than the trial needs, and is paid whole. Where none has enough, several
    are rented.
    """
    cheapest: dict[str, Price] = {}
    for offer in offers:
        if offer.device == device and _is_considered(offer, prices):
            least = max(num_hosts, math.ceil(count / offer.count))
            nodes = next((nodes for nodes in range(least, count) if count % nodes == 0), least)
            rented = RentedNodes(
                device=device,
                instance=offer.instance,
                nodes=nodes,
                region=offer.region,
                provisioning=prices.provisioning,
                is_hypothetical=True,
                unused_devices=nodes * offer.count - count,
            )
            price = build_price(offer.row, rented, seller=offer.seller, prices=prices, today=today)
            known = cheapest.get(offer.seller)
            if price and (known is None or rank(price) < rank(known)):
                cheapest[offer.seller] = price
    return tuple(cheapest.values())


def rank_price(price: Price, *, instance: str, sellers: Iterable[str]) -> tuple[float, ...]:
    """Return what prices of the same hardware are ordered by: one machine before several, then dollars.

    No prediction has the network between machines, so that a time and the price of several do not belong
    together where one machine holds the trial. A named instance comes before all others, and a firm offer
    before that of a marketplace which is not among the named sellers.
    """
    is_other = price.instance.lower() != instance.lower()
    is_unsure = price.seller in MARKETPLACES and price.seller not in sellers
    return is_other, price.nodes, is_unsure, price.usd_per_hour


def renew_rows(prices: PriceList, offers: Iterable[Offer]) -> PriceList:
    """Return the list with newer prices of its own seller in its rows.

    Raises:
        ConfigError: a spot price like a catalogue's error.
    """
    rows = {region: dict(instances) for region, instances in prices.rows.items()}
    for offer in offers:
        row = rows.get(offer.region, {}).get(offer.instance)
        if offer.seller == prices.seller and row and row.as_of < offer.as_of:
            rows[offer.region][offer.instance] = offer.row
    return replace(prices, rows=rows)


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


def _is_considered(offer: Offer, prices: PriceList) -> bool:
    regions = prices.offer_regions
    is_there = not regions or offer.region in regions or find_group(offer.region) in regions
    return is_there and offer.seller != prices.seller and prices.includes(offer.seller)
