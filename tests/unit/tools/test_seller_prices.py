"""The table of sellers that comes along, and the program that makes it."""

import json

import price_sources
import pytest
import seller_prices
from price_builders import offer
from repository import ROOT
from shipped_devices import shipped_catalogue

from orchestrator.core import codec
from orchestrator.plan.offer import OfferList

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


INDEX_HEAD = (
    "date,collected_at,source,provider,segment,pricing,gpu_model,sku,region,geo,gpu_count,usd_per_hour,"
    "usd_per_gpu_hour,sample_size\n"
)


def read(source, text, devices):
    found = price_sources.find_generated_offers("shop", source, text, devices)
    return [(one.instance, one.region, one.count, one.on_demand_usd_per_hour, one.as_of) for one in found]


def test_generated_tables_of_both_programs_are_read():
    assert read(price_sources.AWS, AWS, {"g6.12xlarge": ("l4", 4)}) == [
        ("g6.12xlarge", "us-east-1", 4, 4.6016, "2026-07-20"),
    ]
    assert read(price_sources.AZURE, AZURE, price_sources.AZURE_DEVICES) == [
        ("Standard_NC4as_T4_v3", "eastus", 1, 0.526, "2026-06-18"),
        ("Standard_NC4as_T4_v3", "westus", 1, 0.631, "2026-06-18"),
    ]


def index(*rows):
    lines = (f"2026-10-10,T,s,{row},1" for row in rows)
    return [
        (one.seller, one.instance, one.region, one.count, one.on_demand_usd_per_hour, one.spot_usd_per_hour)
        for one in price_sources.find_index_offers(INDEX_HEAD + "\n".join(lines))
    ]


def test_both_prices_of_an_instance_are_one_offer():
    azure = "Microsoft Azure,h,{},MI300X,ND_MI300X,eastus2,NA,8,{},1"
    assert index(azure.format("on_demand", "48.0"), azure.format("spot", "8.87")) == [
        ("azure", "ND_MI300X", "eastus2", 8, 48.0, 8.87)
    ]


def test_a_price_of_one_gpu_is_that_of_the_machines_that_are_sold():
    assert index("Nebius,n,on_demand,B200,HGX B200,global,Global,1,8.5,8.5") == [
        ("nebius", "8 x HGX B200", "region unstated", 8, 68.0, None)
    ]
    pods = index("RunPod Secure Cloud,n,on_demand,L40S,NVIDIA L40S,global,Global,1,1.09,1.09")
    assert [(one[3], one[4]) for one in pods] == [(1, 1.09), (2, 2.18), (4, 4.36), (8, 8.72)]


@pytest.mark.parametrize(
    "row",
    [
        "Vast.ai,m,on_demand,L40S,median-offer,global,Global,1,0.6,0.6",
        "RunPod Community Cloud,m,on_demand,MI300X,AMD,global,Global,1,0.5,0.5",
        "Oracle Cloud,h,on_demand,H100,BM.GPU.H100.8,global,Global,1,10.0,10.0",
        "RunPod Secure Cloud,n,on_demand,B300,NVIDIA B300 MIG,global,Global,1,0.5,0.5",
    ],
)
def test_medians_placeholders_parts_and_unknown_devices_are_left_out(row):
    assert index(row) == []


def feed_row(**changes):
    return {
        "currency": "USD",
        "gpu_count": 1,
        "gpu_key": "RTX 4090 24GB",
        "gpu_model_raw": "RTX 4090",
        "gpu_partition": None,
        "notes": "verified host, reliability 0.985",
        "price_total_hr_usd": 0.3,
        "pricing_type": "on-demand",
        "provider": "vastai",
        "region": "Ukraine, UA",
    } | changes


def feed(**changes):
    return [*price_sources.find_feed_offers(json.dumps({"offers": [feed_row(**changes)]}))]


def test_an_offer_of_a_host_has_its_region():
    (found,) = feed()
    assert (found.seller, found.instance, found.region) == ("vast", "1 x RTX 4090", "Ukraine, UA")


def test_a_pod_of_hosts_is_another_seller_than_one_of_the_cloud_itself_and_a_low_stock_is_noted():
    secure = feed(provider="runpod", notes="secure cloud; stock Low; up to 8 GPUs", region=None)
    assert {(one.seller, one.region, one.note) for one in secure} == {
        ("runpod", "region unstated", "short: stock was low")
    }
    community = feed(provider="runpod", notes="community cloud; stock High; up to 8 GPUs")
    assert {(one.seller, one.note) for one in community} == {("runpod_community", None)}


@pytest.mark.parametrize(
    "changes", [{"currency": "EUR"}, {"gpu_partition": "MIG 1g.24gb"}, {"provider": "scaleway"}]
)
def test_other_currencies_and_parts_of_a_gpu_are_left_out(changes):
    assert feed(**changes) == []


def test_a_droplet_has_as_many_devices_as_its_page_lets_choose_and_a_commitment_is_no_price():
    row = {
        "gpu_key": "MI325X 256GB",
        "gpu_model_raw": "AMD MI325X",
        "provider": "digitalocean",
        "region": None,
    }
    notes = "self serve; GPUs per droplet: Choose between 1 or 8 GPU's per droplet"
    rows = [
        feed_row(**row, notes=notes, price_total_hr_usd=3.8),
        feed_row(**row, notes="12 month commitment", price_total_hr_usd=2.88, pricing_type="reserved-12mo"),
    ]
    listed = json.dumps({"collected_at": "2026-10-04T12:20:45+00:00", "offers": rows})
    found = price_sources.find_feed_offers(listed, price_sources.OCTOBER_FEED, price_sources.OCTOBER_DEVICES)
    assert [(one.seller, one.device, one.count, one.on_demand_usd_per_hour, one.as_of) for one in found] == [
        ("digitalocean", "mi325x", 1, 3.8, "2026-10-04"),
        ("digitalocean", "mi325x", 8, 30.4, "2026-10-04"),
    ]


def spot_feed(**prices):
    sizes = [
        {
            "size": size,
            "valueColumns": [
                {"name": "linux", "prices": {"USD": usd}},
                {"name": "mswin", "prices": {"USD": "9.9"}},
            ],
        }
        for size, usd in ({"trn2.48xlarge": "8.5964"} | prices).items()
    ]
    kinds = [{"type": "gpuCurrentGen", "sizes": sizes}]
    elsewhere = [{"type": "gpuCurrentGen", "sizes": sizes[:0]}]
    regions = [
        {"region": "us-east-1", "instanceTypes": elsewhere},
        {"region": "us-east-2", "instanceTypes": kinds},
    ]
    return json.dumps({"config": {"rate": "perhr", "currencies": ["USD"], "regions": regions}})


def test_spot_prices_of_aws_are_offers_of_their_own_region_and_day():
    devices = {"g6.xlarge": ("l4", 1), "g6.2xlarge": ("l4", 1)}
    feed = spot_feed(**{"g6.xlarge": "0.3897", "g6.2xlarge": "N/A*", "m7i.large": "0.03"})
    trainium, alone = price_sources.find_aws_spot_offers(feed, devices)
    assert (trainium.instance, trainium.device, trainium.count) == ("trn2.48xlarge", "trainium2", 16)
    assert (alone.region, alone.on_demand_usd_per_hour, alone.spot_usd_per_hour) == (
        "us-east-2",
        None,
        0.3897,
    )
    assert (alone.as_of, alone.source.partition("@")[2]) == ("2026-08-06", "69bcec67, code Apache-2.0")


def test_the_newest_row_of_an_instance_in_a_region_counts():
    old, new = offer(usd=1.0), offer(usd=2.0, as_of="2026-10-10")
    assert seller_prices.select_newest((new, old)) == seller_prices.select_newest((old, new)) == (new,)


def test_google_rows_of_the_table_are_those_of_its_price_list():
    shipped = codec.from_json(OfferList, (ROOT / "conf/prices/sellers.json").read_bytes()).offers
    expected = seller_prices.select_cheapest(price_sources.find_google_offers(shipped_catalogue()))
    assert {one for one in shipped if one.seller == "gcp"} == set(expected)


def test_the_table_is_small_and_each_row_has_a_source_at_a_commit():
    file = ROOT / "conf/prices/sellers.json"
    assert file.stat().st_size < 110_000
    rows = json.loads(file.read_bytes())["offers"]
    assert all(" @" in row["source"] for row in rows)
    licences = {row["source"].rpartition(", ")[2] for row in rows if row["seller"] != "gcp"}
    assert licences == {"Apache-2.0", "MIT", "code MIT", "code Apache-2.0"}


@pytest.mark.parametrize(
    "device", ["rtx_3090", "rtx_4090", "rtx_5090", "rtx_a6000", "mi325x", "mi355x", "gb200", "trainium2"]
)
def test_devices_that_few_sellers_have_are_in_the_table(device: str) -> None:
    rows = json.loads((ROOT / "conf/prices/sellers.json").read_bytes())["offers"]
    assert any(row["device"] == device for row in rows)


def test_the_cheapest_of_a_seller_and_group_stays_for_each_number_of_devices() -> None:
    cheap, dear = offer(usd=1.0), offer(usd=2.0, instance="dear")
    elsewhere, eight = offer(usd=3.0, region="eu-west-1"), offer(usd=7.0, count=8)
    assert seller_prices.select_cheapest((dear, cheap, elsewhere, eight)) == (cheap, elsewhere, eight)


def test_the_cheapest_as_spot_stays_beside_the_cheapest_on_demand() -> None:
    on_demand, spot = offer(usd=1.0), offer(usd=2.0, spot=0.5, instance="spot")
    assert set(seller_prices.select_cheapest((on_demand, spot))) == {on_demand, spot}
