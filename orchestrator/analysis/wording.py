"""Numbers and names as people read them: the one place where seconds become milliseconds."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from orchestrator.analysis.measured import Spread
from orchestrator.analysis.setting import Setting

UNKNOWN = "\N{EN DASH}"
_DIGITS = 4
_MOST_DECIMALS = 7
_DATA_KINDS = {"real": "real", "standin": "stand-in", "synthetic": "synthetic"}


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


def data_name(data: str) -> str:
    """`standin:1f2e…` -> `stand-in 1f2e3d4c`: what kind of data, and which."""
    kind, _, version = data.partition(":")
    return f"{_DATA_KINDS.get(kind, kind)} {version[:8]}"


def label_of(setting: Setting, names: Iterable[str]) -> str:
    """A setting by some of its fields: `torch_ddp, bf16, cpu, 2 devices`."""
    return ", ".join(_named(setting, name) for name in names if getattr(setting, name) != "")


def _named(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    worded = {
        "num_workers": lambda: counted(value, "device"),
        "global_batch_size": lambda: f"batch {value}",
        "steps": lambda: counted(value, "step"),
        "seed": lambda: f"seed {value}",
        "data": lambda: data_name(value),
    }
    return worded.get(name, lambda: str(value))()


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
