"""Numbers and data as people read them."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from string import hexdigits

UNKNOWN = "\N{EN DASH}"
_DIGITS = 4
_MOST_DECIMALS = 7
_DATA_KINDS = {"real": "real", "standin": "stand-in", "synthetic": "synthetic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median between two ends; what lies between them, its owner says."""

    median: float
    low: float
    high: float


def number(value: float) -> str:
    """A value with four significant digits, and a dash if there is none: `6,397`, `10.02`, `0.1000`."""
    return _with_decimals(value, _decimals_of(value)) if math.isfinite(value) else UNKNOWN


def spread(value: Spread, *, factor: float = 1.0) -> str:
    """`median [low, high]` with the decimals of the median; the median alone if there is no spread."""
    median, low, high = (each * factor for each in (value.median, value.low, value.high))
    if not math.isfinite(median) or low == high:
        return number(median)
    shown = [_with_decimals(each, _decimals_of(median)) for each in (median, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def ratio(value: Spread) -> str:
    """`1.31x [1.27, 1.35]`; without brackets if there is no interval."""
    ends = f" [{value.low:,.2f}, {value.high:,.2f}]" if value.low < value.high else ""
    return f"{value.median:,.2f}x{ends}"


def percent(value: Spread) -> str:
    """`93% [90, 96]`; without brackets if there is no interval."""
    ends = f" [{value.low:.0%}, {value.high:.0%}]".replace("%", "") if value.low < value.high else ""
    return f"{value.median:.0%}{ends}" if math.isfinite(value.median) else UNKNOWN


def data_name(data: str) -> str:
    """`standin:mnist-v1:1f2e…` -> `stand-in 1f2e3d4c`: what kind of data, and which."""
    kind, *_, content = data.split(":")
    is_hash = set(content) <= set(hexdigits)
    return f"{_DATA_KINDS.get(kind, kind)} {content[:8] if is_hash else content}"


def is_standin(data: str) -> bool:
    """Whether a smaller set of real data stands for the one that was asked for."""
    return data.startswith("standin:")


def counted(count: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def day_and_time(seconds: float) -> str:
    """Seconds since the epoch in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _with_decimals(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if decimals <= _MOST_DECIMALS else f"{value:.2e}"


def _decimals_of(value: float) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))
