"""Groups of regions, and the cheapest offers that are kept of them."""

import pytest
from price_builders import offer

from orchestrator.core.offer import OfferList, find_group, select_cheapest


@pytest.mark.parametrize(
    ("group", "regions"),
    [
        ("us", ("us-east-1", "us-central1", "eastus2", "westus", "southcentralus", "us-south-1")),
        ("europe", ("eu-west-1", "eu-north1", "europe-west4", "northeurope", "swedencentral", "uksouth")),
        ("asia", ("ap-south-1", "asia-east1", "southeastasia", "japaneast", "uaenorth")),
        ("other", ("ca-central-1", "brazilsouth", "australia-southeast1", "southafricanorth")),
    ],
)
def test_regions_of_all_sellers_have_a_group(group: str, regions: tuple[str, ...]) -> None:
    assert {find_group(region) for region in regions} == {group}


def test_the_cheapest_of_a_seller_and_group_stays_for_each_number_of_devices() -> None:
    cheap, dear = offer(usd=1.0), offer(usd=2.0, instance="dear")
    elsewhere, eight = offer(usd=3.0, region="eu-west-1"), offer(usd=7.0, count=8)
    assert select_cheapest((dear, cheap, elsewhere, eight)) == (cheap, elsewhere, eight)


def test_the_cheapest_as_spot_stays_beside_the_cheapest_on_demand() -> None:
    on_demand, spot = offer(usd=1.0), offer(usd=2.0, spot=0.5, instance="spot")
    assert set(select_cheapest((on_demand, spot))) == {on_demand, spot}


def test_offers_take_the_place_of_those_of_their_seller_alone() -> None:
    known = OfferList(offers=(offer(seller="a"), offer(seller="b")))
    (kept, new) = known.override((offer(seller="b", usd=9.0),)).offers
    assert (kept.seller, new.on_demand_usd_per_hour) == ("a", 9.0)
