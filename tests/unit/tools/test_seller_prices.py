"""The table of sellers that comes along, and the program that makes it."""

import json

import seller_prices
from price_builders import offer
from repository import ROOT
from shipped_devices import shipped_catalogue

from orchestrator.core import codec
from orchestrator.core.offer import OfferList

AWS = """
// generated at 2026-07-20T13:44:30Z for us-east-1
var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
	// us-east-1
	"us-east-1": {
		// g6 family
		"g6.12xlarge": 4.601600, "g6.xlarge": 0.804800,
	},
}
"""
AZURE = """
// generated at 2026-06-18T03:43:41Z
func init() {
	// eastus
	initialOnDemandPrices["eastus"] = map[string]float64{
		"Basic_A0":             0.018000,
		"Standard_NC4as_T4_v3": 0.526000,
	}
	initialOnDemandPrices["westus"] = map[string]float64{
		"Standard_NC4as_T4_v3": 0.631000,
	}
}
"""


def read(text, devices):
    found = seller_prices.find_offers("shop", ("host/repository", "0123456789"), "prices.go", text, devices)
    return [(one.instance, one.region, one.count, one.on_demand_usd_per_hour, one.as_of) for one in found]


def test_generated_tables_of_both_programs_are_read():
    assert read(AWS, {"g6.12xlarge": ("l4", 4)}) == [
        ("g6.12xlarge", "us-east-1", 4, 4.6016, "2026-07-20"),
    ]
    assert read(AZURE, seller_prices.AZURE_DEVICES) == [
        ("Standard_NC4as_T4_v3", "eastus", 1, 0.526, "2026-06-18"),
        ("Standard_NC4as_T4_v3", "westus", 1, 0.631, "2026-06-18"),
    ]


def test_google_rows_of_the_table_are_those_of_its_price_list():
    shipped = codec.from_json(OfferList, (ROOT / "conf/prices/sellers.json").read_bytes()).offers
    expected = seller_prices.select_cheapest(seller_prices.find_google_offers(shipped_catalogue()))
    assert {one for one in shipped if one.seller == "gcp"} == set(expected)


def test_the_table_is_small_and_each_row_has_source_and_licence_or_price_list():
    file = ROOT / "conf/prices/sellers.json"
    assert file.stat().st_size < 64_000
    sources = {one["seller"]: one["source"] for one in json.loads(file.read_bytes())["offers"]}
    assert all("Apache-2.0" in sources[seller] and " @" in sources[seller] for seller in ("aws", "azure"))


def test_the_cheapest_of_a_seller_and_group_stays_for_each_number_of_devices() -> None:
    cheap, dear = offer(usd=1.0), offer(usd=2.0, instance="dear")
    elsewhere, eight = offer(usd=3.0, region="eu-west-1"), offer(usd=7.0, count=8)
    assert seller_prices.select_cheapest((dear, cheap, elsewhere, eight)) == (cheap, elsewhere, eight)


def test_the_cheapest_as_spot_stays_beside_the_cheapest_on_demand() -> None:
    on_demand, spot = offer(usd=1.0), offer(usd=2.0, spot=0.5, instance="spot")
    assert set(seller_prices.select_cheapest((on_demand, spot))) == {on_demand, spot}
