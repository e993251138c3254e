"""Make `conf/prices/sellers.json`: `python tools/seller_prices.py AWS_GIT AZURE_GIT`.

The prices are those that two programs for Kubernetes carry, generated from the sellers' own price lists, with
the day of that in the file. Both are under Apache-2.0. Google's are those of `conf/prices/gcp.yaml`. Of each
seller, device, number of devices and group of regions the cheapest stays. Neither of the two has spot prices.

Args:
    AWS_GIT: git directory of github.com/aws/karpenter-provider-aws.
    AZURE_GIT: git directory of github.com/Azure/karpenter-provider-azure.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from orchestrator.config.cluster import load_cluster
from orchestrator.core import codec
from orchestrator.core.offer import Offer, find_group
from orchestrator.core.pool import Catalogue

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "conf/prices/sellers.json"

_AWS = "github.com/aws/karpenter-provider-aws", "6fc13b5236fd04fd16ff3f9dc7490d0813994099"
_AWS_PRICES = "pkg/providers/pricing/zz_generated.pricing_aws.go"
_AWS_TYPES = "website/content/en/preview/reference/instance-types.md"
_AZURE = "github.com/Azure/karpenter-provider-azure", "2b431da153a6a92b705c18046512c60b1631b682"
_AZURE_PRICES = "pkg/providers/pricing/zz_generated.pricing.go"

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

_DAY = re.compile(r"generated at (\d{4}-\d\d-\d\d)T")
_REGION = re.compile(
    r'^\s*(?:initialOnDemandPrices\[)?"([a-z][a-z0-9-]*)"(?:\]\s*=|:)\s*(?:map\S+\s*)?\{', re.M
)
_RATE = re.compile(r'"([A-Za-z0-9_. -]+)":\s*([0-9.]+),')
_GPU = re.compile(r"karpenter.k8s.aws/instance-gpu-(name|count|memory)\|([^|]+)\|")


def main(aws: Path, azure: Path) -> None:
    """Read the sources and write the table."""
    catalogue = load_cluster((), working_directory=ROOT)[1]
    offers = (
        *find_offers("aws", _AWS, _AWS_PRICES, _show(aws, _AWS[1], _AWS_PRICES), find_aws_devices(aws)),
        *find_offers("azure", _AZURE, _AZURE_PRICES, _show(azure, _AZURE[1], _AZURE_PRICES), AZURE_DEVICES),
        *find_google_offers(catalogue),
    )
    kept = sorted(select_cheapest(offers), key=lambda one: (one.device, one.seller, one.count, one.region))
    lines = ",\n".join(json.dumps(codec.to_plain(offer)) for offer in kept)
    TABLE.write_text(f'{{"offers": [\n{lines}\n]}}\n')
    print(f"{TABLE}: {len(kept)} offers")


def find_offers(
    seller: str,
    repository: tuple[str, str],
    path: str,
    generated: str,
    devices: Mapping[str, tuple[str, int]],
) -> Iterator[Offer]:
    """Yield the offers in a generated table of prices on demand: region -> instance -> dollars an hour."""
    found = _DAY.search(generated)
    if found is None:
        raise ValueError(f"{path} has no day")
    source = f"{repository[0]} {path} @{repository[1][:8]}, Apache-2.0"
    _, *parts = _REGION.split(generated)
    for region, rates in zip(parts[::2], parts[1::2], strict=True):
        for instance, usd in _RATE.findall(rates):
            if instance in devices:
                device, count = devices[instance]
                yield Offer(
                    seller=seller,
                    instance=instance,
                    region=region,
                    zone=None,
                    device=device,
                    count=count,
                    on_demand_usd_per_hour=float(usd),
                    spot_usd_per_hour=None,
                    as_of=found[1],
                    source=source,
                )


def find_aws_devices(repository: Path) -> dict[str, tuple[str, int]]:
    """Return the device of each instance of AWS, and how many, as that program lists them."""
    found = {}
    for section in re.split(r"^### ", _show(repository, _AWS[1], _AWS_TYPES), flags=re.M):
        gpu = dict(_GPU.findall(section))
        device = _AWS_DEVICES.get((gpu.get("name", ""), gpu.get("memory", "")))
        if device and int(gpu["count"]):
            found[section.split("`")[1]] = device, int(gpu["count"])
    return found


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


def select_cheapest(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Keep of each seller, device, number of devices and group of regions the cheapest on demand, and as
    spot.
    """
    kept: dict[tuple[object, ...], tuple[float, Offer]] = {}
    for offer in offers:
        figures = (offer.on_demand_usd_per_hour, offer.spot_usd_per_hour)
        for is_spot, usd in enumerate(figures):
            key = (offer.seller, offer.device, offer.count, find_group(offer.region), is_spot)
            if usd is not None and (key not in kept or usd < kept[key][0]):
                kept[key] = usd, offer
    return tuple(dict.fromkeys(offer for _, offer in kept.values()))


def _show(repository: Path, commit: str, path: str) -> str:
    command = ["git", "-C", str(repository), "show", f"{commit}:{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
