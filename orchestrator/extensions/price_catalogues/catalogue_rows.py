"""A seller's catalogue as SkyPilot or gpuhunt publish it, a CSV -> its offers. Pure."""

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from orchestrator.core.errors import ConfigError
from orchestrator.plan.offer import Offer

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region", "SpotPrice")
"""Columns of SkyPilot's, with both prices of an instance in a row."""

GPUHUNT_COLUMNS = (
    "instance_name",
    "gpu_name",
    "gpu_count",
    "price",
    "location",
    "gpu_memory",
    "spot",
    "flags",
)
"""Columns of gpuhunt's, with a row for each price."""

_NO_OFFERS = frozenset({"gcp-dws-calendar-mode", "gcp-g4-preview", "runpod-cluster"})
"""Flags there of what is sold for a time fixed beforehand, twice, or as several machines together alone."""

_CURRENCY = "Currency"
_ZONE = "AvailabilityZone"

FindDevice = Callable[[str], str | None]
"""Returns the device that a name means; None: unknown."""

_GPU_INFO = "GpuInfo"

_FORMS: Mapping[str, str] = {
    "pcie": r"pcie|NC\d+ads_A100",
    "nvl": r"nvl(?!ink)|NC\d+adi?s_H100",
}
"""Form of a GPU -> what its instance or its description has where the name of the accelerator has none."""

_NAMES: Mapping[tuple[str, str], Mapping[int, str]] = {
    ("A100", ""): {40: "a100_40", 80: "a100_80"},
    ("A100", "pcie"): {40: "a100_pcie_40", 80: "a100_pcie_80"},
    ("A100-80GB", "pcie"): {80: "a100_pcie_80"},
    ("A100-80GB-SXM", ""): {80: "a100_80"},
    ("H100", "pcie"): {80: "h100_pcie"},
    ("H100", "nvl"): {94: "h100_nvl"},
    ("H100-SXM", ""): {80: "h100"},
    ("H200", "nvl"): {141: ""},
    ("H200-SXM", ""): {141: "h200"},
    ("V100", ""): {16: "v100", 32: "v100_32"},
    ("Trainium", ""): {32: ""},
}
"""Accelerator there and its form -> GiB of one -> its device, or none, where the name alone means another."""


def read_catalogue(
    lines: Iterable[str], *, seller: str, as_of: str, source: str, find_device: FindDevice
) -> tuple[Offer, ...]:
    """Return the offers of devices that are known; what has no instance or no price is left out.

    Raises:
        ConfigError: another schema, another currency, a row that is cut, or a price that cannot be.
    """
    rows = csv.DictReader(_require_ends(lines), strict=True)
    try:
        columns = rows.fieldnames or ()
        is_gpuhunt = "instance_name" in columns
        missing = [name for name in (GPUHUNT_COLUMNS if is_gpuhunt else COLUMNS) if name not in columns]
        if missing:
            publisher = "gpuhunt" if is_gpuhunt else "SkyPilot"
            raise ConfigError(f"it has no column {', '.join(missing)}, which catalogues of {publisher} have")
        found = (
            _read_offer(row, device, seller=seller, as_of=as_of, source=source, line=rows.line_num)
            for row, device in _rows_of_devices(rows, find_device, is_gpuhunt=is_gpuhunt)
        )
        offers = _join_prices(found) if is_gpuhunt else tuple(found)
    except csv.Error as error:
        raise ConfigError(f"line {rows.line_num}: {error}") from error
    if not offers:
        raise ConfigError("it has no price of a known device")
    return offers


def _require_ends(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.endswith("\n"):
            raise ConfigError("it is cut: its last line has no end")
        yield line


def _rename(row: Mapping[str, str], line: int) -> Mapping[str, str]:
    """Return a row of gpuhunt under SkyPilot's names; an empty one where it is no offer."""
    if row["spot"] not in ("True", "False"):
        raise ConfigError(f"line {line}: spot={row['spot']!r} is neither True nor False")
    if _NO_OFFERS & set(row["flags"].split()):
        return {"AcceleratorName": ""}
    zoned = re.fullmatch(r"([a-z]+-[a-z]+\d+)-[a-z]", row["location"])
    parts = f"+{row['gpu_count']}x{row['gpu_name']}" if row["instance_name"].startswith("n1-") else ""
    return {
        "InstanceType": f"{row['instance_name']}{parts}",  # Google sells these GPUs beside a machine
        "AcceleratorName": row["gpu_name"].removeprefix("tpu-"),
        "AcceleratorCount": row["gpu_count"],
        "Price": row["price"] if row["spot"] == "False" else "",
        "SpotPrice": row["price"] if row["spot"] == "True" else "",
        "Region": zoned[1] if zoned else row["location"],
        _ZONE: row["location"] if zoned else "",
        _GPU_INFO: f"{row['gpu_memory']} GiB",
    }


def _join_prices(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Join both prices of an instance, the lowest where several are of one kind.

    Raises:
        ConfigError: a spot price above that on demand.
    """
    joined: dict[tuple[object, ...], Offer] = {}
    for offer in offers:
        key = offer.instance, offer.region, offer.zone, offer.device, offer.count
        other = joined.get(key, offer)
        joined[key] = replace(
            offer,
            on_demand_usd_per_hour=_find_least(offer.on_demand_usd_per_hour, other.on_demand_usd_per_hour),
            spot_usd_per_hour=_find_least(offer.spot_usd_per_hour, other.spot_usd_per_hour),
        )
    return tuple(joined.values())


def _find_least(*prices: float | None) -> float | None:
    return min((usd for usd in prices if usd is not None), default=None)


def _rows_of_devices(
    rows: "csv.DictReader[str]", find_device: FindDevice, *, is_gpuhunt: bool
) -> Iterator[tuple[Mapping[str, str], str]]:
    for cells in rows:
        if None in cells or None in cells.values():
            raise ConfigError(f"line {rows.line_num} has another number of cells than the first")
        if cells.get(_CURRENCY, "USD") != "USD":
            raise ConfigError(f"line {rows.line_num}: its prices are in {cells[_CURRENCY]}, not in USD")
        row = _rename(cells, rows.line_num) if is_gpuhunt else cells
        name = row["AcceleratorName"]
        if name and row["InstanceType"] and (row["Price"] or row["SpotPrice"]):
            count = _read_number(row, "AcceleratorCount", rows.line_num) or 0.0
            device = _find_device(row, name, count, find_device)
            if device and not 0 < count < 1:  # a part of a device is none
                yield row, device


def _find_device(row: Mapping[str, str], name: str, count: float, find_device: FindDevice) -> str | None:
    """Return the device of a row: catalogues give several the same name, and differ in that.

    The description has the memory of one device, or of all together.
    """
    described = f"{row['InstanceType']} {row.get(_GPU_INFO) or ''}"
    form = next((form for form, words in _FORMS.items() if re.search(words, described, re.I)), "")
    devices = _NAMES.get((name, form)) or _NAMES.get((name, ""))
    if devices is None:
        return find_device(name)
    found = re.search(r"SizeInMiB\D+(\d+)|(\d+)(?:\.\d+)? GiB", described)
    mib = float(found[1] or 1024 * int(found[2])) if found else 0.0
    sizes = [
        gib for size in (mib / max(count, 1), mib) for gib in devices if abs(size / 1024 - gib) < gib / 10
    ]
    return devices[sizes[0] if sizes else min(devices)]


def _read_offer(
    row: Mapping[str, str], device: str, *, seller: str, as_of: str, source: str, line: int
) -> Offer:
    count = _read_number(row, "AcceleratorCount", line) or 0
    if count < 1 or count != int(count):
        raise ConfigError(
            f"line {line}: AcceleratorCount={row['AcceleratorCount']!r} is no number of devices"
        )
    on_demand = _read_number(row, "Price", line)
    spot = _read_number(row, "SpotPrice", line) or None  # vast writes 0.00 where it sells none
    try:
        return Offer(
            seller=seller,
            instance=row["InstanceType"],
            region=row["Region"],
            zone=row.get(_ZONE) or None,
            device=device,
            count=int(count),
            on_demand_usd_per_hour=on_demand,
            spot_usd_per_hour=spot,
            as_of=as_of,
            source=source,
        )
    except ConfigError as error:
        raise ConfigError(f"line {line}: {error}") from error


def _read_number(row: Mapping[str, str], column: str, line: int) -> float | None:
    if not row[column]:
        return None
    try:
        number = float(row[column])
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ConfigError(f"line {line}: {column}={row[column]!r} is no number")
    return number
