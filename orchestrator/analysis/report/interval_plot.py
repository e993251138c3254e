"""Interval plots inside table cells: a whisker, a mark and a ring per repeat on an axis shared by a column.

Places are percentages of the cell's width, so that a plot fits every column and needs no script.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.figures.ticks import log_ticks
from orchestrator.analysis.formatting import number
from orchestrator.analysis.report.html import element, text
from orchestrator.core.interval import Spread

_FIRST, _LAST = 3.0, 97.0
"""Ends of the axis in percent of the cell's width."""

_MIDDLE = "11"
_LEAST_TICKS = 3
_CHARACTER, _GAP = 8.0, 3.0  # of labels, in percent of a plot of about 80 pixels
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of a column.

    Attributes:
        low, high: its ends.
        is_log: whether equal ratios are equally far apart.
    """

    low: float
    high: float
    is_log: bool
    unit: str = ""

    def place(self, value: float) -> float:
        """Compute the place of a value in percent; values beyond an end are placed there."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return _FIRST + (_LAST - _FIRST) * share

    @property
    def ticks(self) -> list[float]:
        """Values to label."""
        ticks = log_ticks(self.low, self.high) if self.is_log else [self.low, self.high]
        stride = math.ceil(len(ticks) / (_LEAST_TICKS + 1))
        kept: list[float] = []
        for tick in ticks[::stride]:
            labels = "".join(_short(one, self.unit) for one in (*kept[-1:], tick))
            if not kept or self.place(tick) - self.place(kept[-1]) >= _GAP + _CHARACTER * len(labels) / 2:
                kept.append(tick)
        return kept


def axis_over(spreads: Iterable[Spread], *, is_log: bool, unit: str = "") -> Axis | None:
    """Choose the axis of a column; None: nothing in it has a place."""
    ends = [
        end for spread in spreads for end in (spread.low, spread.median, spread.high) if math.isfinite(end)
    ]
    positive = [end for end in ends if end > 0]
    if not ends or (is_log and not positive):
        return None
    return Axis(low=min(positive) if is_log else min(ends), high=max(ends), is_log=is_log, unit=unit)


def axis_markup(axis: Axis) -> str:
    """Draw the tick labels of a column's head."""
    labels = (
        element("text", text(_short(tick, axis.unit)), x=f"{axis.place(tick):.1f}%", y="11")
        for tick in axis.ticks
    )
    return element("svg", *labels, class_="axis", aria_hidden="true")


def grid_style(axis: Axis) -> str:
    """Write the grid lines of a column as the background of its plots."""
    lines = (
        f"linear-gradient(var(--line),var(--line)) {axis.place(tick):.1f}% 0/1px 100% no-repeat"
        for tick in axis.ticks
    )
    return ",".join(lines)


def plot_markup(value: Spread, axis: Axis, *, mark: str, rings: Sequence[float] = (), title: str) -> str:
    """Draw one interval.

    Args:
        mark: `measured`, `compiled` or `predicted`: the style sheet draws each in its own way.
        rings: value of every repeat; those at one place are one ring.
        title: tooltip of the plot.
    """
    place = f"{axis.place(value.median):.1f}%"
    parts = [element("title", text(title))]
    if value.low < value.high:
        low, high = (f"{axis.place(end):.1f}%" for end in (value.low, value.high))
        parts.append(element("line", x1=low, x2=high, y1=_MIDDLE, y2=_MIDDLE))
    if len(rings) > 1:
        parts += [
            element("circle", class_="ring", cx=place_of_ring, cy=_MIDDLE, r="3")
            for place_of_ring in dict.fromkeys(f"{axis.place(ring):.1f}%" for ring in rings)
        ]
    if mark == "compiled":
        diamond = element("path", d="M0 5 6 11 0 17-6 11z")
        parts.append(element("svg", diamond, x=place, class_="mark"))
    else:
        parts.append(element("circle", class_="mark", cx=place, cy=_MIDDLE, r="5"))
    return element("svg", *parts, class_=f"plot {mark}", aria_hidden="true")


def _short(value: float, unit: str) -> str:
    """Write `20k`, `$0.005`."""
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if abs(value) >= size), (1.0, ""))
    shown = f"{value / size:.3g}" if value else "0"
    return f"{unit}{shown}{prefix}" if abs(value) >= 1e-4 or not value else f"{unit}{number(value, digits=2)}"
