"""Heat map of device by precision: the fastest setting of each cell against the best measured one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis.formatting import UNKNOWN, number
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.report.html import element, text
from orchestrator.core.interval import Spread

Tone = Literal["best", "faster", "slightly-faster", "tie", "slightly-slower", "slower"]

_CLEARLY = 2.0
_LEAST_CELLS = 3
NOTE = (
    "1x is the best measured setting. Each cell is the fastest setting of its device and precision, "
    "whatever the limits. For a goal of least cost it is the cheapest. "
    "Blue: better. Orange: worse. Grey: no difference shown. Hatched: not measured."
)


Cell = tuple[RankedSetting, Spread]
"""A setting, and its seconds of the job, or its dollars where these decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The fastest setting of every device and precision.

    Attributes:
        reference: the best measured setting.
        cells: by device and precision; what is not known is not there.
    """

    reference: Cell
    cells: Mapping[tuple[str, str], Cell]


def build_heat_map(recommendation: Recommendation) -> HeatMap | None:
    """Choose the cells; None where fewer than three are known, or quality alone decides."""
    best = recommendation.best_measured
    reference = _find_cell(best, recommendation) if best else None
    if recommendation.is_by_quality or reference is None:
        return None
    cells: dict[tuple[str, str], Cell] = {}
    for one in recommendation.standings:
        key, cell = (one.device, one.factors.get("precision", "")), _find_cell(one, recommendation)
        if all(key) and cell and (key not in cells or cell[1].median < cells[key][1].median):
            cells[key] = cell
    return HeatMap(reference=reference, cells=cells) if len(cells) >= _LEAST_CELLS else None


def _find_cell(one: RankedSetting, recommendation: Recommendation) -> Cell | None:
    """Take a setting as a cell; None: costs decide, and it has no price, or one of 0 without ratios."""
    amount = one.usd if recommendation.is_by_cost else one.seconds
    return (one, amount) if amount and amount.low > 0 else None


def heat_map_markup(heat_map: HeatMap, *, named_by: str) -> str:
    """Draw the map as a table.

    Args:
        named_by: id of the heading that is the table's name.
    """
    devices = list(dict.fromkeys(device for device, _ in heat_map.cells))
    precisions = sorted(
        {precision for _, precision in heat_map.cells}, key=lambda name: (name != "fp32", name)
    )
    head = [
        element("th", "device", scope="col"),
        *(element("th", text(name), scope="col") for name in precisions),
    ]
    rows = [
        element(
            "tr",
            element("th", text(device), scope="row"),
            *(_cell_markup(heat_map.cells.get((device, name)), heat_map.reference) for name in precisions),
        )
        for device in devices
    ]
    table = element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_="heat",
        aria_labelledby=named_by,
    )
    return element("div", table, class_="scroll", role="region", tabindex="0", aria_labelledby=named_by)


def _cell_markup(cell: Cell | None, reference: Cell) -> str:
    if cell is None:
        return element("td", UNKNOWN, class_="absent")
    (one, amount), (_, own) = cell, reference
    if cell == reference:
        return element("td", element("b", "1x, reference"), class_="best", title=one.setting)
    is_measured = one.provenance == "measured"
    ends = (amount.high, amount.median, amount.low)
    low, likely, high = (number(own.median / end, digits=2) for end in ends)
    tone = _choose_tone(amount, own)
    return element(
        "td",
        element("b", text(f"{likely}x")),
        "" if is_measured else element("small", text(one.provenance)),
        class_=tone if is_measured else f"{tone} unmeasured",
        title=f"{one.setting}: {low}x to {high}x",
    )


def _choose_tone(amount: Spread, own: Spread) -> Tone:
    """Choose the colour: grey as long as the intervals overlap."""
    if amount.low <= own.high and own.low <= amount.high:
        return "tie"
    ratio = own.median / amount.median
    if ratio > 1:
        return "faster" if ratio >= _CLEARLY else "slightly-faster"
    return "slower" if ratio <= 1 / _CLEARLY else "slightly-slower"
