"""A seller's catalogue as SkyPilot publishes it (`catalogs/v8/SELLER/vms.csv`) -> its offers. Pure."""

import csv
import math
from collections.abc import Callable, Iterator, Mapping

from orchestrator.core.errors import ConfigError
from orchestrator.core.offer import Offer

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region", "SpotPrice")
_CURRENCY = "Currency"
_ZONE = "AvailabilityZone"

FindDevice = Callable[[str], str | None]
"""Returns the device that a name means; None: unknown."""

_NAMES: Mapping[str, str] = {
    "A100": "a100_40",
    "H100-SXM": "h100",
    "H200-SXM": "h200",
    "V100": "v100",
    "Trainium": "",
}
"""Names of accelerators that mean another device in that catalogue, or none."""


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
        device = (_NAMES[name] if name in _NAMES else find_device(name)) if name else None
        if device and row["InstanceType"] and (row["Price"] or row["SpotPrice"]):
            yield row, device


def _read_offer(
    row: Mapping[str, str], device: str, *, seller: str, as_of: str, source: str, line: int
) -> Offer:
    count = _read_number(row, "AcceleratorCount", line) or 0
    if count < 1 or count != int(count):
        raise ConfigError(
            f"line {line}: AcceleratorCount={row['AcceleratorCount']!r} is no number of devices"
        )
    on_demand, spot = (_read_number(row, column, line) for column in ("Price", "SpotPrice"))
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
