"""Heat map of device by precision: the best setting of each cell against the best measured one."""

from typing import Literal

from orchestrator.analysis.formatting import UNKNOWN, number
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.report.html import element, text
from orchestrator.core.interval import Spread

Tone = Literal["best", "faster", "slightly-faster", "tie", "slightly-slower", "slower"]

_CLEARLY = 2.0
NOTE = (
    "The fastest setting of each device and precision, whatever the limits: times as fast as the best "
    "measured setting (for a goal of least cost: the cheapest, times as cheap). Blue: better; orange: worse; "
    "grey: no difference shown. Hatched: not measured."
)


def heat_map(recommendation: Recommendation, *, named_by: str) -> str:
    """Draw the map as a table; empty where fewer than three cells are known, or quality alone decides.

    Args:
        named_by: id of the heading that is the table's name.
    """
    reference = recommendation.best_measured
    cells: dict[tuple[str, str], RankedSetting] = {}
    for one in recommendation.standings:
        key = (one.device, one.factors.get("precision", ""))
        if all(key) and _amount(one, recommendation) is not None:
            best = cells.get(key)
            if best is None or _median(one, recommendation) < _median(best, recommendation):
                cells[key] = one
    devices = list(dict.fromkeys(device for device, _ in cells))
    precisions = sorted({precision for _, precision in cells}, key=lambda name: (name != "fp32", name))
    if (
        recommendation.is_by_quality
        or reference is None
        or _amount(reference, recommendation) is None
        or len(cells) < 3
    ):
        return ""
    head = [
        element("th", "device", scope="col"),
        *(element("th", text(name), scope="col") for name in precisions),
    ]
    rows = [
        element(
            "tr",
            element("th", text(device), scope="row"),
            *(_cell(cells.get((device, name)), reference, recommendation) for name in precisions),
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


def _amount(one: RankedSetting, recommendation: Recommendation) -> Spread | None:
    """Seconds of the job, or its dollars where these decide."""
    return one.usd if recommendation.is_by_cost else one.seconds


def _median(one: RankedSetting, recommendation: Recommendation) -> float:
    amount = _amount(one, recommendation)
    return amount.median if amount else float("inf")


def _cell(one: RankedSetting | None, reference: RankedSetting, recommendation: Recommendation) -> str:
    if one is None:
        return element("td", UNKNOWN, class_="absent")
    amount, own = _amount(one, recommendation), _amount(reference, recommendation)
    assert amount is not None, "cells without a price are left out"
    assert own is not None, "a reference without a price draws no map"
    tone = _tone_of(amount, own, is_reference=one == reference)
    ratio = own.median / amount.median
    words = "1x, reference" if one == reference else f"{number(ratio, digits=2)}x"
    classes = [tone, *(["unmeasured"] if one.provenance != "measured" else [])]
    remark = [element("small", text(one.provenance))] if one.provenance != "measured" else []
    low, high = (number(own.median / end, digits=2) for end in (amount.high, amount.low))
    told = f"{one.setting}: {low}x to {high}x"
    return element("td", element("b", text(words)), *remark, class_=" ".join(classes), title=told)


def _tone_of(amount: Spread, own: Spread, *, is_reference: bool) -> Tone:
    """Choose the colour: grey as long as the intervals overlap."""
    if is_reference:
        return "best"
    if amount.low <= own.high and own.low <= amount.high:
        return "tie"
    ratio = own.median / amount.median
    if ratio > 1:
        return "faster" if ratio >= _CLEARLY else "slightly-faster"
    return "slower" if ratio <= 1 / _CLEARLY else "slightly-slower"
