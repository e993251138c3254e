"""A seller's catalogue as SkyPilot publishes it (`catalogs/v8/SELLER/vms.csv`) -> its offers. Pure."""

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping

from orchestrator.core.errors import ConfigError
from orchestrator.plan.offer import Offer

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region", "SpotPrice")
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
    text: str, *, seller: str, as_of: str, source: str, find_device: FindDevice
) -> tuple[Offer, ...]:
    """Return the offers of devices that are known; what has no instance or no price is left out.

    Raises:
        ConfigError: another schema, another currency, a row that is cut, or a price that cannot be.
    """
    rows = csv.DictReader(text.splitlines(), strict=True)
    try:
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise ConfigError(f"it has no column {', '.join(missing)}, which catalogues of SkyPilot have")
        if text[-1:] != "\n":
            raise ConfigError("it is cut: its last line has no end")
        offers = tuple(
            _read_offer(row, device, seller=seller, as_of=as_of, source=source, line=rows.line_num)
            for row, device in _rows_of_devices(rows, find_device)
        )
    except csv.Error as error:
        raise ConfigError(f"line {rows.line_num}: {error}") from error
    if not offers:
        raise ConfigError("it has no price of a known device")
    return offers


def _rows_of_devices(
    rows: "csv.DictReader[str]", find_device: FindDevice
) -> Iterator[tuple[Mapping[str, str], str]]:
    for row in rows:
        if None in row or None in row.values():
            raise ConfigError(f"line {rows.line_num} has another number of cells than the first")
        if row.get(_CURRENCY, "USD") != "USD":
            raise ConfigError(f"line {rows.line_num}: its prices are in {row[_CURRENCY]}, not in USD")
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
    found = re.search(r"SizeInMiB\D+(\d+)", described)
    mib = float(found[1]) if found else 0.0
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
