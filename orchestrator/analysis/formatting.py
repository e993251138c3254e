"""Numbers and data as people read them."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from string import hexdigits
from typing import Self

from orchestrator.core.interval import Spread, exactly
from orchestrator.core.placement import Placement

UNKNOWN = "\N{EN DASH}"
_DIGITS = 4
_MOST_DECIMALS = 7
_WIDE = 0.2  # an interval, as a share of its middle
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_MOST_RATIO = 1000  # of two numbers of a column with the same decimals
_DATA_KINDS = {"real": "real", "standin": "stand-in", "synthetic": "synthetic"}


class Number(str):
    """A number as it is shown, and its value: tables are sorted by that. NaN and infinite: it has none."""

    value: float

    def __new__(cls, words: str, value: float) -> Self:
        """Create a string that carries its value."""
        shown = super().__new__(cls, words)
        shown.value = value
        return shown


class FileLink(str):
    """The path of a file, relative to the report's folder: pages link to it."""


def marks(*, is_noisy: bool, is_resumed: bool) -> str:
    """Return the suffix of a number that needs care: `, noisy, resumed`."""
    return f"{', noisy' if is_noisy else ''}{', resumed' if is_resumed else ''}"


def counted_marks(*, num_noisy: int, num_outliers: int, num_resumed: int) -> str:
    """Return the suffix of several numbers that need care: `, 1 noisy, 2 outliers, 2 resumed`."""
    outliers = "outlier" if num_outliers == 1 else "outliers"
    counts = {"noisy": num_noisy, outliers: num_outliers, "resumed": num_resumed}
    return "".join(f", {count} {mark}" for mark, count in counts.items() if count)


def describe_processes(placement: Placement) -> str:
    """Processes by threads: `4 x 2`, and `1 x 8 + 1 x 2` where its parts are not alike."""
    parts = placement.unequal or (placement,)
    return " + ".join(f"{part.num_processes} x {part.threads}" for part in parts)


def number(value: float, *, digits: int = _DIGITS, decimals: int | None = None) -> Number:
    """Format a value with that many significant digits, or as a dash if it is missing: `6,397`, `10.02`.

    Args:
        decimals: decimals of a column, in place of its own.
    """
    if not math.isfinite(value):
        return Number(UNKNOWN, value)
    return Number(
        _with_decimals(value, _compute_decimals(value, digits) if decimals is None else decimals), value
    )


def shared_decimals(values: Iterable[float], *, digits: int = _DIGITS) -> int | None:
    """Choose decimals that align a column: those that its least value needs; None: they span too much."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or max(sizes) / min(sizes) > _MOST_RATIO:
        return None
    return min(_compute_decimals(min(sizes), digits), _MOST_DECIMALS)


def count(value: int) -> Number:
    """`2,000`."""
    return Number(f"{value:,}", value)


def share(value: float, *, decimals: int = 0) -> Number:
    """`93%`, and a dash if it is not known."""
    return Number(f"{value:.{decimals}%}" if math.isfinite(value) else UNKNOWN, value)


def exact_percent(value: float) -> str:
    """Write a share that someone chose with all of its digits: `5%`, `2.5%`."""
    return f"{100 * value:.6g}%"


def spread(value: Spread, *, factor: float = 1.0, digits: int = _DIGITS) -> Number:
    """`median [low, high]` with the decimals of the median; the median alone if there is no spread."""
    median, low, high = (end * factor for end in (value.median, value.low, value.high))
    if not math.isfinite(median) or low == high:
        return number(median, digits=digits)
    shown = [_with_decimals(end, _compute_decimals(median, digits)) for end in (median, low, high)]
    return Number(f"{shown[0]} [{shown[1]}, {shown[2]}]", median)


def duration(seconds: Spread, *, digits: int = 4) -> Number:
    """Format seconds in the unit that suits them: `12.30 min [11.90, 12.70]`."""
    middle, low, high = duration_parts(seconds, digits=digits)
    return Number(f"{middle} [{low}, {high}]" if low else middle, seconds.median)


def digits_for(value: Spread) -> int:
    """Choose as many significant digits as the interval supports: two where it is wider than a fifth."""
    return 2 if value.high - value.low > _WIDE * abs(value.median) else 3


def format_spread(value: Spread) -> Number:
    """Write an interval with as many digits as its width supports."""
    return Number(spread(rounded(value), digits=digits_for(value)), value.median)


def rounded(value: Spread) -> Spread:
    """Round an interval that is wider than a fifth to two digits, before the point too: 29,125 to 29,000."""
    digits = digits_for(value)
    if digits > 2:
        return value
    median, low, high = (float(f"{end:.{digits}g}") for end in (value.median, value.low, value.high))
    return Spread(median=median, low=low, high=high)


def about(seconds: Spread) -> str:
    """Format seconds in a readable unit: `3.1 min (2.3 to 4.2)`."""
    middle, low, high = duration_parts(seconds, digits=digits_for(seconds))
    return f"{middle} ({low} to {high})" if low != high else middle


def format_duration(hours: float, *, digits: int) -> Number:
    """Format hours in the unit that suits them: `2.29 s`."""
    return duration(exactly(_HOUR * hours), digits=digits)


def format_cost(seconds: float | None, usd: float | None) -> str:
    """Write a time and dollars as `12 min, $3.100`; empty: neither is known."""
    parts = [] if seconds is None else [_short_duration(seconds)]
    parts += [] if usd is None else [f"${number(usd)}"]
    return ", ".join(parts)


def _short_duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def duration_parts(seconds: Spread, *, digits: int) -> tuple[str, str, str]:
    """Format `12.30 min`, `11.90` and `12.70`; without an interval its ends are empty."""
    units = (("days", _DAY), ("h", _HOUR), ("min", _MINUTE))
    unit, size = next(((unit, size) for unit, size in units if seconds.median >= 2 * size), ("s", 1.0))
    middle, low, high = (
        number(end / size, digits=digits) for end in (seconds.median, seconds.low, seconds.high)
    )
    return (f"{middle} {unit}", low, high) if seconds.low < seconds.high else (f"{middle} {unit}", "", "")


def ratio(value: Spread) -> Number:
    """`1.31x [1.27, 1.35]`; without brackets if there is no interval."""
    ends = f" [{value.low:,.2f}, {value.high:,.2f}]" if value.low < value.high else ""
    return Number(f"{value.median:,.2f}x{ends}", value.median)


def percent(value: Spread) -> Number:
    """`93% [90, 96]`; without brackets if there is no interval."""
    ends = f" [{value.low:.0%}, {value.high:.0%}]".replace("%", "") if value.low < value.high else ""
    return Number(f"{value.median:.0%}{ends}" if math.isfinite(value.median) else UNKNOWN, value.median)


def data_name(data: str) -> str:
    """`standin:mnist-v1:1f2e…` -> `stand-in 1f2e3d4c`: what kind of data, and which.

    A text of another form, which old or foreign records may have, stays as it is.
    """
    if ":" not in data:
        return data
    kind, *_, content = data.split(":")
    is_hash = set(content) <= set(hexdigits)
    return f"{_DATA_KINDS.get(kind, kind)} {content[:8] if is_hash else content}"


def is_standin(data: str) -> bool:
    """Return whether a smaller set of real data replaces the requested one."""
    return data.startswith("standin:")


def counted(count: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def day_and_time(seconds: float) -> str:
    """Format seconds since the epoch in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _with_decimals(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if decimals <= _MOST_DECIMALS else f"{value:.2e}"


def _compute_decimals(value: float, digits: int = _DIGITS) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def list_inputs(inputs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Name each input once: `input of vgg16, resnet50: images 32x32, 10 classes`.

    Args:
        inputs: job and the input of its network; an empty one is unknown.
    """
    jobs: dict[str, dict[str, None]] = {}
    for job, words in inputs:
        if words:
            jobs.setdefault(words, {})[job] = None
    return tuple(f"input of {first_names(list(names))}: {words}" for words, names in jobs.items())


def first_names(names: Sequence[str], *, most: int = 4, separator: str = ", ") -> str:
    """Return the first names, and the number of the others: `a, b, c, d and 1,200 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{separator.join(names[:most])}{more}"
