"""A seller's catalogue in both formats: what is read, and what is refused in one line."""

import pytest

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.price_catalogues.catalogue_rows import read_catalogue
from orchestrator.plan.offer import Offer

HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice"
DEVICES = {"H100": "h100", "L40S": "l40s"}


def read(*rows: str, head: str = HEAD, end: str = "\n") -> tuple[Offer, ...]:
    return read_catalogue(
        ("\n".join((head, *rows)) + end).splitlines(keepends=True),
        seller="shop",
        as_of="2026-11-27",
        source="vms.csv",
        find_device=DEVICES.get,
    )


def test_a_row_is_an_offer_with_seller_day_and_source() -> None:
    (offer,) = read("h_8,H100,8.0,128,1600,16,north,\"{'Gpus': [{'Name': 'H100'}]}\",8.0")
    assert (offer.seller, offer.instance, offer.region, offer.zone) == ("shop", "h_8", "north", None)
    assert (offer.device, offer.count, offer.on_demand_usd_per_hour) == ("h100", 8, 16.0)
    assert (offer.as_of, offer.source, offer.cheapest_usd_per_device_hour) == ("2026-11-27", "vms.csv", 1.0)


def test_a_zone_is_kept_and_columns_may_have_another_order() -> None:
    head = "Region,AvailabilityZone,InstanceType,AcceleratorName,AcceleratorCount,SpotPrice,Price"
    (offer,) = read("north,north-a,h_1,H100,1,,2.5", head=head)
    assert (offer.region, offer.zone, offer.spot_usd_per_hour) == ("north", "north-a", None)


@pytest.mark.parametrize(
    "row",
    [
        "cpu_4,,,4,16,0.2,north,,",
        "m_1,Magic 9000,1,4,16,0.2,north,,",
        ",H100,1,,,9.8,north,,3",
        "h_1,H100,1,16,200,,north,,",
        "gr6f.4xlarge,H100,0.5,16,128,1.066,us-east-2,,0.3056",
    ],
)
def test_what_has_no_known_device_no_instance_or_no_price_is_left_out(row: str) -> None:
    assert [offer.device for offer in read(row, "l_1,L40S,1,8,32,1.5,north,,")] == ["l40s"]


def test_a_spot_price_of_0_is_none() -> None:
    (offer,) = read('1x-H100_SXM-32-65536,H100,1,32,64.0,2.65,"France, FR, EU",,0.00')
    assert (offer.on_demand_usd_per_hour, offer.spot_usd_per_hour) == (2.65, None)


def describe(name: str, mib: int, count: int = 1) -> str:
    return f"\"{{'Gpus': [{{'Name': '{name}', 'Count': {count}, 'MemoryInfo': {{'SizeInMiB': {mib}}}}}]}}\""


@pytest.mark.parametrize(
    ("instance", "name", "count", "info", "device"),
    [
        ("p4d.24xlarge", "A100", 8, describe("A100", 40960, 8), "a100_40"),
        ("8x-A100_SXM4-32-65536", "A100", 8, describe("A100", 655360, 8), "a100_80"),
        ("2x-A100_SXM4-32-65536", "A100", 2, describe("A100", 81920, 2), "a100_40"),
        ("1x-A100_PCIE-32-65536", "A100", 1, describe("A100", 81920), "a100_pcie_80"),
        ("1x_A100-80GB_SECURE", "A100-80GB", 1, describe("A100 PCIe", 80), "a100_pcie_80"),
        ("1x_A100-80GB-SXM_SECURE", "A100-80GB-SXM", 1, describe("A100 SXM", 80), "a100_80"),
        ("Standard_NC24ads_A100_v4", "A100-80GB", 1, "", "a100_pcie_80"),
        ("1x-H100_NVL-32-65536", "H100", 1, describe("H100", 95830), "h100_nvl"),
        ("Standard_NC80adis_H100_v5", "H100", 2, "", "h100_nvl"),
        ("gpu_1x_h100_pcie", "H100", 1, describe("H100", 81920), "h100_pcie"),
        ("gpu_8x_h100_sxm5", "H100", 8, describe("H100", 81920), "h100"),
        ("Standard_ND96isr_H100_v5", "H100", 8, "", "h100"),
        ("1x-H200_NVL-32-65536", "H200", 1, describe("H200", 143771), None),
        ("8x-Tesla_V100-32-65536", "V100", 8, describe("V100", 131072, 8), "v100"),
        ("trn1.2xlarge", "Trainium", 1, "", None),
    ],
)
def test_one_name_of_several_devices_is_kept_apart_by_instance_and_memory(
    instance: str, name: str, count: int, info: str, device: str | None
) -> None:
    other = "l_1,L40S,1,8,32,1.5,north,,"
    offers = read(f"{instance},{name},{count},16,200,9,north,{info},", other)
    assert [offer.device for offer in offers] == [*([device] if device else []), "l40s"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("h_1,H100,1,16,200,0,north,,", "line 2: h_1 has a price of 0, which is not above 0"),
        ("h_1,H100,1,16,200,-2.5,north,,", "line 2: h_1 has a price of -2.5, which is not above 0"),
        ("h_1,H100,1,16,200,inf,north,,", "line 2: h_1 has a price of inf, which is not above 0"),
        ("h_1,H100,1,16,200,2,north,,-1", "line 2: h_1 has a spot price of -1, which is not above 0"),
        ("h_1,H100,1,16,200,2,north,,3", "line 2: h_1 has a spot price of 3, above 2 on demand"),
        ("h_1,H100,1,16,200,EUR 2,north,,", "line 2: Price='EUR 2' is no number"),
        ("h_1,H100,1,16,200,nan,north,,", "line 2: Price='nan' is no number"),
        ("h_1,H100,1.5,16,200,2,north,,", "line 2: AcceleratorCount='1.5' is no number of devices"),
        ("h_1,H100,,16,200,2,north,,", "line 2: AcceleratorCount='' is no number of devices"),
        ("h_1,H100,1,16,20", "line 2 has another number of cells than the first"),
        ("h_1,H100,1,16,200,2,north,,1,9", "line 2 has another number of cells than the first"),
        ("cpu_4,,,4,16,0.2,north,,", "it has no price of a known device"),
    ],
)
def test_a_price_that_cannot_be_or_a_cut_row_is_refused(row: str, reason: str) -> None:
    with pytest.raises(ConfigError) as told:
        read(row)
    assert str(told.value) == reason


def test_another_currency_is_refused() -> None:
    with pytest.raises(ConfigError) as told:
        read("h_1,H100,1,16,200,2,north,,1,EUR", head=f"{HEAD},Currency")
    assert str(told.value) == "line 2: its prices are in EUR, not in USD"


def test_another_schema_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(ConfigError) as told:
        read("h_1,2", head="InstanceType,Price")
    assert str(told.value) == (
        "it has no column AcceleratorName, AcceleratorCount, Region, SpotPrice, "
        "which catalogues of SkyPilot have"
    )


@pytest.mark.parametrize("text", ["", "<html>not here</html>\n"])
def test_no_table_at_all_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^it has no column InstanceType"):
        read(head=text, end="")


def test_a_last_line_without_an_end_is_cut() -> None:
    with pytest.raises(ConfigError, match=r"^it is cut: its last line has no end$"):
        read("h_1,H100,1,16,200,2,north,,1", end="")


GPUHUNT = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags,"
    "cpu_arch,provider_data"
)
NAMES = {"A100": "a100", "T4": "t4", "v5litepod-8": "tpu_v5e_8", "MI325X": "mi325x", **DEVICES}


def hunt(*rows: str, head: str = GPUHUNT) -> list[tuple[object, ...]]:
    offers = read_catalogue(
        ("\n".join((head, *rows, ""))).splitlines(keepends=True),
        seller="shop",
        as_of="2026-11-27",
        source="catalog.zip",
        find_device=NAMES.get,
    )
    return [
        (
            *(one.instance, one.region, one.zone, one.device, one.count),
            *(one.on_demand_usd_per_hour, one.spot_usd_per_hour),
        )
        for one in offers
    ]


def test_both_prices_of_an_instance_of_gpuhunt_are_one_offer() -> None:
    on_demand = "p5.48xlarge,us-east-1,55.04,192,2048.0,8,H100,80.0,False,,nvidia,,x86,{}"
    spot = on_demand.replace("55.04", "16.1").replace("False", "True")
    dearer = spot.replace("16.1", "20")
    assert hunt(spot, on_demand, dearer) == [("p5.48xlarge", "us-east-1", None, "h100", 8, 55.04, 16.1)]
    assert hunt(spot) == [("p5.48xlarge", "us-east-1", None, "h100", 8, None, 16.1)]


def test_zones_and_names_of_google_are_those_of_its_price_list() -> None:
    assert hunt(
        "n1-standard-8,us-central1-a,0.73,8,30.0,1,T4,16.0,False,,nvidia,,x86,{}",
        "v5litepod-8,europe-west4-b,12.48,224,384.0,1,v5litepod-8,128.0,False,,google,,x86,{}",
        "v5litepod-8,europe-west4-b,6.24,224,384.0,1,tpu-v5litepod-8,0.0,True,,,,x86,{}",
        "a2-ultragpu-1g,northamerica-northeast1-a,5.6,12,170.0,1,A100,80.0,False,,nvidia,,x86,{}",
    ) == [
        ("n1-standard-8+1xT4", "us-central1", "us-central1-a", "t4", 1, 0.73, None),
        ("v5litepod-8", "europe-west4", "europe-west4-b", "tpu_v5e_8", 1, 12.48, 6.24),
        ("a2-ultragpu-1g", "northamerica-northeast1", "northamerica-northeast1-a", "a100_80", 1, 5.6, None),
    ]


@pytest.mark.parametrize("flag", ["gcp-dws-calendar-mode gcp-a4", "gcp-g4-preview", "runpod-cluster"])
def test_what_is_not_sold_by_itself_at_any_time_is_no_offer(flag: str) -> None:
    row = "h_8,north-a,9,1,1.0,8,H100,80.0,False,,nvidia,{},x86,{{}}"
    assert [one[5] for one in hunt(row.format(flag), row.replace("9", "30").format("gcp-a4"))] == [30.0]


@pytest.mark.parametrize(
    ("instance", "name", "gib", "device"),
    [
        ("a2-highgpu-1g", "A100", "40.0", "a100_40"),
        ("NVIDIA A100 80GB PCIe", "A100", "80", "a100_pcie_80"),
        ("gpu_1x_h100_pcie", "H100", "80.0", "h100_pcie"),
        ("p3dn.24xlarge", "V100", "32.0", "v100_32"),
        ("Standard_ND96isr_MI325X_v5", "MI325X", "288.0", "mi325x"),
    ],
)
def test_memory_and_name_of_an_instance_of_gpuhunt_decide_its_device(instance, name, gib, device) -> None:
    (offer,) = hunt(f"{instance},north,2,8,64.0,1,{name},{gib},False,,nvidia,,x86,{{}}")
    assert offer[3] == device


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            "h,north,0,1,1.0,1,H100,80.0,False,,nvidia,,x86,{}",
            "line 2: h has a price of 0, which is not above 0",
        ),
        (
            "h,north,-1,1,1.0,1,H100,80,True,,nvidia,,x86,{}",
            "line 2: h has a spot price of -1, which is not above 0",
        ),
        ("h,north,2,1,1.0,1,H100,80,maybe,,nvidia,,x86,{}", "line 2: spot='maybe' is neither True nor False"),
        ("h,north,EUR 2,1,1.0,1,H100,80,True,,,,x86,{}", "line 2: SpotPrice='EUR 2' is no number"),
        ("h,north,2,1,1.0,1", "line 2 has another number of cells than the first"),
        ("m,north,0.2,4,16.0,0,,,False,,,,x86,{}", "it has no price of a known device"),
    ],
)
def test_a_price_of_gpuhunt_that_cannot_be_is_refused(row: str, reason: str) -> None:
    with pytest.raises(ConfigError) as told:
        hunt(row)
    assert str(told.value) == reason


def test_a_spot_price_of_gpuhunt_above_that_on_demand_is_refused() -> None:
    row = "h,north,{},1,1.0,1,H100,80.0,{},,nvidia,,x86,{{}}"
    with pytest.raises(ConfigError, match=r"^h has a spot price of 3, above 2 on demand$"):
        hunt(row.format(3, True), row.format(2, False))


def test_a_catalogue_of_gpuhunt_without_a_column_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError) as told:
        hunt("h,north", head="instance_name,location,price,gpu_count,gpu_name,spot")
    assert str(told.value) == "it has no column gpu_memory, flags, which catalogues of gpuhunt have"


def test_another_currency_of_gpuhunt_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^line 2: its prices are in EUR, not in USD$"):
        hunt("h,north,2,1,1.0,1,H100,80.0,False,,nvidia,,x86,{},EUR", head=f"{GPUHUNT},Currency")
