"""Public lists of what sellers ask, each at one commit, and how their rows become offers.

Two programs for Kubernetes carry the prices of AWS and Azure on demand, and `spotinfo` AWS's feed of spot
prices; `gpu-price-index` and `gpu-price-feed` ask the sellers each day; SkyPilot's catalogue has Oracle's
shapes. Google's rows are those of `conf/prices/gcp.yaml`. What is no offer is left out: parts of a GPU,
medians of a marketplace, prices in other currencies or for a commitment, and prices of one GPU of a machine
that is only sold whole.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from orchestrator.core.pool import Catalogue
from orchestrator.core.price import SHORT
from orchestrator.extensions.price_catalogues.catalogue_rows import FindDevice, read_catalogue
from orchestrator.plan.offer import Offer

UNSTATED = "region unstated"
"""Region of an offer where the seller publishes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """File of a public repository at a commit."""

    repository: str
    commit: str
    path: str
    licence: str

    @property
    def address(self) -> str:
        """Return where it is below an address of raw files."""
        return f"{self.repository}/{self.commit}/{self.path}"

    @property
    def label(self) -> str:
        """Return it as a price names it."""
        return f"github.com/{self.repository} {self.path} @{self.commit[:8]}, {self.licence}"


_AWS_COMMIT = "6fc13b5236fd04fd16ff3f9dc7490d0813994099"
_AWS_REPOSITORY = "aws/karpenter-provider-aws"
AWS = Source(
    repository=_AWS_REPOSITORY,
    commit=_AWS_COMMIT,
    path="pkg/providers/pricing/zz_generated.pricing_aws.go",
    licence="Apache-2.0",
)
AWS_TYPES = Source(
    repository=_AWS_REPOSITORY,
    commit=_AWS_COMMIT,
    path="website/content/en/preview/reference/instance-types.md",
    licence="Apache-2.0",
)
AZURE = Source(
    repository="Azure/karpenter-provider-azure",
    commit="2b431da153a6a92b705c18046512c60b1631b682",
    path="pkg/providers/pricing/zz_generated.pricing.go",
    licence="Apache-2.0",
)
# A copy of website.spot.ec2.aws.a2z.com/spot.json, the feed behind AWS's page. The licence covers the code.
AWS_SPOT = Source(
    repository="alexei-led/spotinfo",
    commit="69bcec6705869f89302ee456159dfe39f8dc2b7b",
    path="internal/spot/data/spot-price-data.json",
    licence="code Apache-2.0",
)
AWS_SPOT_DAY = "2026-08-06"
"""Day of pull request 33 of that repository, which fetched it first; this commit may have that of four days
later."""
AWS_SPOT_REGION = "us-east-2"
"""The region of which spot prices are taken: it has all of our devices that AWS sells."""
# Its licence covers the code; the prices are, by its README, information of their publishers.
INDEX = Source(
    repository="ewyluda/gpu-price-index",
    commit="ab49c8081de81f1dae5f8f7e7d46af80b68c35d6",
    path="data/observations/2026/2026-10-10.csv",
    licence="code MIT",
)
FEED = Source(
    repository="toolshedlabs-hash/gpu-price-feed",
    commit="03b0c63082ffe031c4a7f683fc7ca677370c63e2",
    path="data/prices.json",
    licence="MIT",
)
FEED_DAY = "2026-08-23"
"""Day on which that feed asked the sellers, as its page at this commit has it."""
OCTOBER_FEED = replace(FEED, commit="3c41e7753cec450521498c9aa31d5f1893e4aa42")
"""The same on a day on which DigitalOcean's page could be read."""
ORACLE = Source(
    repository="skypilot-org/skypilot-catalog",
    commit="0588751183820cf2dab5c8a89447e8aac9f73fd5",
    path="catalogs/v8/oci/vms.csv",
    licence="Apache-2.0",
)
ORACLE_DAY = "2026-09-18"
"""Day of pull request 194 of that repository, whose commit it is."""

_AWS_DEVICES: Mapping[tuple[str, str], str] = {
    ("t4", "16384"): "t4",
    ("a10g", "22888"): "a10g",
    ("l4", "22888"): "l4",
    ("l40s", "45776"): "l40s",
    ("rtx-pro-server-6000", "98304"): "rtx_pro_6000",
    ("v100", "32768"): "v100_32",
    ("a100", "40960"): "a100_40",
    ("a100", "81920"): "a100_80",
    ("h100", "81920"): "h100",
    ("h200", "144384"): "h200",
    ("b200", "183359"): "b200",
}
"""Name and MiB of a GPU in that program's table of instances -> device."""

AZURE_DEVICES: Mapping[str, tuple[str, int]] = {
    "Standard_NC4as_T4_v3": ("t4", 1),
    "Standard_NC64as_T4_v3": ("t4", 4),
    "Standard_NC24ads_A100_v4": ("a100_pcie_80", 1),
    "Standard_NC48ads_A100_v4": ("a100_pcie_80", 2),
    "Standard_NC96ads_A100_v4": ("a100_pcie_80", 4),
    "Standard_ND96asr_v4": ("a100_40", 8),
    "Standard_ND96amsr_A100_v4": ("a100_80", 8),
    "Standard_NC40ads_H100_v5": ("h100_nvl", 1),
    "Standard_NC80adis_H100_v5": ("h100_nvl", 2),
    "Standard_ND96isr_H100_v5": ("h100", 8),
    "Standard_ND96isr_H200_v5": ("h200", 8),
    "Standard_ND96isr_MI300X_v5": ("mi300x", 8),
    "Standard_ND40rs_v2": ("v100_32", 8),
}
"""Instance of Azure -> device, and how many: as AksNodeVmSizes.cs of github.com/microsoft/aspire @5bd693ae
counts them. Left out: what it gives no number of GPUs, parts of a GPU, and NCv3, which ended in 2025."""

_INDEX_DEVICES: Mapping[str, str] = {
    "A100-40GB": "a100_40",
    "A100-80GB": "a100_80",
    "A100-80GB-PCIe": "a100_pcie_80",
    "B200": "b200",
    "H100": "h100",
    "H100-NVL": "h100_nvl",
    "H100-PCIe": "h100_pcie",
    "H200": "h200",
    "L40S": "l40s",
    "MI300X": "mi300x",
}
_INDEX_COUNTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    **{("RunPod Secure Cloud", device): (1, 2, 4, 8) for device in _INDEX_DEVICES.values()},
    ("Nebius", "b200"): (8,),
    ("Nebius", "h100"): (1, 8),
    ("Nebius", "h200"): (1, 8),
}
"""Provider with a price for one GPU, and device -> how many a machine has: RunPod gives up to 8 to a pod, as
the other list has it; Nebius's machines are those of SkyPilot's catalogue at @0082b043."""
_INDEX_SELLERS: Mapping[str, str] = {
    "AWS": "aws",
    "Lambda": "lambda",
    "Microsoft Azure": "azure",
    "Nebius": "nebius",
    "RunPod Secure Cloud": "runpod",
}
"""Providers that count. The others: Crusoe and Hyperstack do not state which machines one GPU is a part of,
Vast.ai has medians, RunPod's community prices hold places (0.50 USD of an MI300X), Oracle's are of one GPU of
eight, and CoreWeave is not in the catalogue that `prices refresh` fetches."""

_FEED_DEVICES: Mapping[str, str] = {
    "B200 180GB SXM": "b200",
    "H100 80GB SXM": "h100",
    "H100 94GB NVL": "h100_nvl",
    "H200 141GB SXM": "h200",
    "L40S 48GB": "l40s",
    "MI300X 192GB": "mi300x",
    "RTX 3090 24GB": "rtx_3090",
    "RTX 4090 24GB": "rtx_4090",
    "RTX 5090 32GB": "rtx_5090",
    "RTX A6000 48GB": "rtx_a6000",
    "RTX PRO 6000 Blackwell 96GB (form unstated)": "rtx_pro_6000",
    "RTX PRO 6000 Blackwell 96GB Server": "rtx_pro_6000",
    "RTX PRO 6000 Blackwell 96GB Workstation": "rtx_pro_6000",
    "T4 16GB": "t4",
}
OCTOBER_DEVICES: Mapping[str, str] = {"MI325X 256GB": "mi325x"}
"""Devices that are taken from the other day, for no other list has them."""
_FEED_SELLERS: Mapping[str, str] = {
    "datacrunch": "verda",
    "digitalocean": "digitalocean",
    "lambdalabs": "lambda",
    "vastai": "vast",
}
"""Providers there -> sellers; DataCrunch is called Verda since 2025."""
_POD_SIZES = (1, 2, 4, 8)

_DAY = re.compile(r"generated at (\d{4}-\d\d-\d\d)T")
_REGION = re.compile(
    r'^\s*(?:initialOnDemandPrices\[)?"([a-z][a-z0-9-]*)"(?:\]\s*=|:)\s*(?:map\S+\s*)?\{', re.M
)
_RATE = re.compile(r'"([A-Za-z0-9_. -]+)":\s*([0-9.]+),')
_SPOT_ALONE: Mapping[str, tuple[str, int]] = {"trn2.48xlarge": ("trainium2", 16)}
"""Machines that the other table of AWS leaves out."""
_GPU = re.compile(r"karpenter.k8s.aws/instance-gpu-(name|count|memory)\|([^|]+)\|")


def find_generated_offers(
    seller: str, source: Source, generated: str, devices: Mapping[str, tuple[str, int]]
) -> Iterator[Offer]:
    """Yield the offers in a generated table of prices on demand: region -> instance -> dollars an hour."""
    found = _DAY.search(generated)
    if found is None:
        raise ValueError(f"{source.path} has no day")
    _, *parts = _REGION.split(generated)
    for region, rates in zip(parts[::2], parts[1::2], strict=True):
        for instance, usd in _RATE.findall(rates):
            if instance in devices:
                yield _build(seller, instance, *devices[instance], float(usd), None, found[1], source, region)


def find_aws_devices(types: str) -> dict[str, tuple[str, int]]:
    """Return the device of each instance of AWS, and how many, as that program lists them."""
    found = {}
    for section in re.split(r"^### ", types, flags=re.M):
        gpu = dict(_GPU.findall(section))
        device = _AWS_DEVICES.get((gpu.get("name", ""), gpu.get("memory", "")))
        if device and int(gpu["count"]):
            found[section.split("`")[1]] = device, int(gpu["count"])
    return found


def find_aws_spot_offers(feed: str, devices: Mapping[str, tuple[str, int]]) -> Iterator[Offer]:
    """Yield what AWS's feed asks for spot machines under Linux in one region; it has no price on demand."""
    for region in json.loads(feed)["config"]["regions"]:
        kinds = region["instanceTypes"] if region["region"] == AWS_SPOT_REGION else ()
        for size in (size for kind in kinds for size in kind["sizes"]):
            device, count = {**devices, **_SPOT_ALONE}.get(size["size"], ("", 0))
            (usd,) = (one["prices"]["USD"] for one in size["valueColumns"] if one["name"] == "linux")
            if device and not usd.startswith("N/A"):
                yield _build(
                    "aws",
                    size["size"],
                    device,
                    count,
                    None,
                    float(usd),
                    AWS_SPOT_DAY,
                    AWS_SPOT,
                    AWS_SPOT_REGION,
                )


def find_google_offers(catalogue: Catalogue) -> Iterator[Offer]:
    """Yield the rows of `conf/prices/gcp.yaml` whose instances have a device."""
    instances = {
        instance: (device.name, count)
        for device in catalogue.devices.values()
        if device.kind != "cpu"
        for count, instance in device.instances.items()
    }
    for region, rows in catalogue.prices.rows.items():
        for instance, row in rows.items():
            if instance in instances:
                device, count = instances[instance]
                yield Offer(
                    seller="gcp",
                    instance=instance,
                    region=region,
                    zone=None,
                    device=device,
                    count=count,
                    on_demand_usd_per_hour=row.on_demand_usd_per_hour,
                    spot_usd_per_hour=row.spot_usd_per_hour,
                    as_of=row.as_of,
                    source=row.source,
                )


def find_oracle_offers(text: str, find_device: FindDevice) -> tuple[Offer, ...]:
    """Return Oracle's shapes, each once: its list has each in every region, which is no availability."""
    lines = text.splitlines(keepends=True)
    offers = read_catalogue(
        lines, seller="oci", as_of=ORACLE_DAY, source=ORACLE.label, find_device=find_device
    )
    return tuple({one.instance: replace(one, region=UNSTATED, zone=None) for one in offers}.values())


def find_index_offers(text: str) -> Iterator[Offer]:
    """Yield the offers of a day's observations, which have a row for each price."""
    asked: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["provider"] in _INDEX_SELLERS and row["gpu_model"] in _INDEX_DEVICES:
            one = asked.setdefault((row["provider"], row["gpu_model"], row["sku"], row["region"]), dict(row))
            one[row["pricing"]] = row["usd_per_hour"]
    for (provider, model, sku, region), row in asked.items():
        device = "a100_pcie_40" if "pcie_40gb" in sku else _INDEX_DEVICES[model]
        number = int(row["gpu_count"])
        sizes = _INDEX_COUNTS.get((provider, device))
        for count in sizes or (number,):
            on_demand, spot = (
                float(row[kind]) * count / number if kind in row else None for kind in ("on_demand", "spot")
            )
            yield _build(
                _INDEX_SELLERS[provider],
                f"{count} x {sku}" if sizes else sku,
                device,
                count,
                on_demand,
                spot,
                row["date"],
                INDEX,
                UNSTATED if region == "global" else region,
            )


def find_feed_offers(
    text: str, source: Source = FEED, devices: Mapping[str, str] = _FEED_DEVICES
) -> Iterator[Offer]:
    """Yield the offers of the other daily list, which has one for each price, and the stock of RunPod."""
    listed = json.loads(text)
    day = listed.get("collected_at", FEED_DAY)[:10]
    asked: dict[tuple[str, str, str, int, str, str | None], dict[str, float]] = {}
    for row in listed["offers"]:
        device = devices.get(row["gpu_key"])
        seller = _find_feed_seller(row)
        is_kind = row["pricing_type"] in ("on-demand", "spot") and not row["gpu_partition"]
        if device and seller and row["currency"] == "USD" and is_kind:
            stock = f"{SHORT}stock was low" if "stock Low" in row["notes"] else None
            named = re.match(r"instance type ([^,]+)", row["notes"])
            sizes = _POD_SIZES if row["provider"] == "runpod" else (row["gpu_count"],)
            if chosen := re.search(r"between (\d+) or (\d+) GPU", row["notes"]):
                sizes = int(chosen[1]), int(chosen[2])
            for count in sizes:
                model = row["gpu_model_raw"].replace("\N{TRADE MARK SIGN}", "")
                instance = named[1] if named else f"{count} x {model}"
                key = seller, instance, device, count, row["region"] or UNSTATED, stock
                usd = row["price_total_hr_usd"] * count / row["gpu_count"]
                prices = asked.setdefault(key, {})
                prices[row["pricing_type"]] = min(usd, prices.get(row["pricing_type"], usd))
    for (seller, instance, device, count, region, stock), usd in asked.items():
        offer = _build(
            seller, instance, device, count, usd.get("on-demand"), usd.get("spot"), day, source, region
        )
        yield replace(offer, note=stock)


def _find_feed_seller(row: Mapping[str, str]) -> str | None:
    if row["provider"] == "runpod":
        return "runpod_community" if row["notes"].startswith("community") else "runpod"
    return _FEED_SELLERS.get(row["provider"])


def _build(
    seller: str,
    instance: str,
    device: str,
    count: int,
    on_demand: float | None,
    spot: float | None,
    as_of: str,
    source: Source,
    region: str,
) -> Offer:
    """Build an offer; a spot machine at the price on demand is none."""
    return Offer(
        seller=seller,
        instance=instance,
        region=region,
        zone=None,
        device=device,
        count=count,
        on_demand_usd_per_hour=on_demand and round(on_demand, 6),
        spot_usd_per_hour=spot and round(spot, 6) if spot != on_demand else None,
        as_of=as_of,
        source=source.label,
    )
