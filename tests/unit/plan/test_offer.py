"""Lists of offers, of which newer ones take the place, and groups of their regions."""

import pytest
from price_builders import offer

from orchestrator.plan.offer import OfferList, find_group


def test_offers_take_the_place_of_those_of_their_seller_alone() -> None:
    known = OfferList(offers=(offer(seller="a"), offer(seller="b")))
    (kept, new) = known.override((offer(seller="b", usd=9.0),)).offers
    assert (kept.seller, new.on_demand_usd_per_hour) == ("a", 9.0)


@pytest.mark.parametrize(
    ("group", "regions"),
    [
        (
            "us",
            (
                "us-east-1",
                "us-central1",
                "eastus2",
                "westus",
                "southcentralus",
                "us-south-1",
                "US",
                "Ohio, US, NA",
            ),
        ),
        ("europe", ("eu-west-1", "eu-north1", "europe-west4", "northeurope", "swedencentral", "uksouth")),
        ("europe", ("FIN-03", "CZ", "Germany, DE, EU", "Czechia, CZ", "Ukraine, UA")),
        (
            "asia",
            ("ap-south-1", "asia-east1", "southeastasia", "japaneast", "uaenorth", "JP", "Taiwan, TW, AS"),
        ),
        (
            "other",
            (
                "ca-central-1",
                "brazilsouth",
                "australia-southeast1",
                "southafricanorth",
                "CA",
                "Quebec, CA",
                "region unstated",
            ),
        ),
    ],
)
def test_regions_of_all_sellers_have_a_group(group: str, regions: tuple[str, ...]) -> None:
    assert {find_group(region) for region in regions} == {group}
