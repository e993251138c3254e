"""Lists of offers, of which newer ones take the place."""

from price_builders import offer

from orchestrator.core.offer import OfferList


def test_offers_take_the_place_of_those_of_their_seller_alone() -> None:
    known = OfferList(offers=(offer(seller="a"), offer(seller="b")))
    (kept, new) = known.override((offer(seller="b", usd=9.0),)).offers
    assert (kept.seller, new.on_demand_usd_per_hour) == ("a", 9.0)
