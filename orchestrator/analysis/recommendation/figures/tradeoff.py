"""Time against cost of the job, with whiskers: the settings that no other one beats in both are joined."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis.figures.palette import NEUTRAL, PAGE
from orchestrator.analysis.figures.vega_lite import (
    Figure,
    Spec,
    colours,
    left_out,
    log_axis,
    mark_label,
    single,
)
from orchestrator.analysis.formatting import about, counted, number
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.figures.throughput import RowIds

_MOST_SETTINGS = 120
_MOST_WHISKERS = 40
_SIDES: Mapping[str, Spec] = {
    "above": {"align": "left", "dx": 9, "dy": -9},
    "below": {"align": "left", "dx": 9, "dy": 12},
    "left": {"align": "right", "dx": -9, "dy": -9},
    "low": {"align": "right", "dx": -9, "dy": 12},
}
"""Side of a point on which its name stands -> the place of the name beside it, in pixels."""

_CLOSE_TIME, _CLOSE_USD = 1.4, 1.3  # ratios of two points whose names would overlap
_MOST_NAMED = 8  # measured settings beside the front
_HEIGHT_PIXELS = 320
_UNITS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


def tradeoff_figures(recommendations: Sequence[Recommendation], row_ids: RowIds) -> Iterator[Figure]:
    """Draw a figure for every job with several settings that cost money: the axis of dollars has no 0."""
    for recommendation in recommendations:
        priced = [one for one in recommendation.standings if one.usd and one.usd.low > 0]
        if len(priced) > 1:
            yield _figure(recommendation, priced, row_ids)


def find_front(standings: Sequence[RankedSetting]) -> list[RankedSetting]:
    """List the settings that are likely not slower than any cheaper one, the fastest first."""
    front: list[RankedSetting] = []
    for standing in sorted(standings, key=lambda one: (one.seconds.median, _usd(one))):
        if not front or _usd(standing) < _usd(front[-1]):
            front.append(standing)
    return front


def _usd(standing: RankedSetting) -> float:
    return standing.usd.median if standing.usd else float("inf")


def _figure(recommendation: Recommendation, priced: Sequence[RankedSetting], row_ids: RowIds) -> Figure:
    shown = priced[:_MOST_SETTINGS]
    front = find_front(shown)
    middle = sorted(one.seconds.median for one in shown)[len(shown) // 2]
    scale, unit = next(((size, unit) for least, size, unit in _UNITS if middle >= least), (1.0, "seconds"))
    job = recommendation.job
    is_sparse = len(shown) <= _MOST_WHISKERS
    num_measured = sum(bool(one.rates) for one in shown)
    values = [
        _value(
            one,
            scale,
            row=row_ids[job, one.setting],
            is_front=one in front,
            has_whisker=is_sparse or one in front or (bool(one.rates) and num_measured <= _MOST_WHISKERS),
            is_named=bool(one.rates) and num_measured <= _MOST_NAMED,
        )
        for one in shown
    ]
    _place_names(values)
    spec = _spec(values, unit)
    return Figure(
        title=f"Time against cost: {job}",
        caption=(
            f"For {recommendation.basis}. Log axes. Filled: measured, with the 95% interval of the mean. "
            "Hollow: predicted, diamonds compiled, with its 90% interval. "
            "Line: the likely front, where nothing is both faster and cheaper. "
            f"Overlapping whiskers may swap places.{_explain_whiskers(len(shown), num_measured)}"
            + left_out(len(priced), _MOST_SETTINGS, "settings, the likeliest")
        ),
        alternative=_describe(recommendation, front),
        build_spec=lambda width: single(spec, width=width, height=_HEIGHT_PIXELS),
    )


def _explain_whiskers(num_shown: int, num_measured: int) -> str:
    """Describe which settings have whiskers; empty: all of them."""
    if num_shown <= _MOST_WHISKERS:
        return ""
    others = " and of measured settings" if num_measured <= _MOST_WHISKERS else ""
    return f" Whiskers are those of the front{others}."


def _value(
    one: RankedSetting, scale: float, *, row: str, is_front: bool, has_whisker: bool, is_named: bool
) -> dict[str, Any]:
    assert one.usd is not None, "settings without a price are not drawn"
    words = f"{one.setting}: {about(one.seconds)}, ${number(one.usd.median, digits=2)}, {one.provenance}"
    return {
        "precision": one.factors.get("precision", ""),
        "known": one.provenance,
        "front": is_front,
        "named": is_front or is_named,
        "whisker": has_whisker,
        "name": one.setting,
        "time": one.seconds.median / scale,
        "time_low": one.seconds.low / scale,
        "time_high": one.seconds.high / scale,
        "usd": one.usd.median,
        "usd_low": one.usd.low,
        "usd_high": one.usd.high,
        "label": mark_label(words, row=row),
    }


def _place_names(values: Sequence[dict[str, Any]]) -> None:
    """Put the name of a point on its left if one close to it is on its right, and else on its right."""
    named = sorted((one for one in values if one["named"]), key=lambda one: one["time"])
    for index, value in enumerate(named):
        near = {other["side"] for other in named[:index] if _are_close(other, value)}
        has_right = any(_are_close(value, other) for other in named[index + 1 :])
        sides = sorted(_SIDES, key=lambda side: (_SIDES[side]["align"] == "left") == has_right)
        value["side"] = next((side for side in sides if side not in near), "")


def _are_close(one: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Return whether the names of two points would overlap on one side of them."""
    cheaper, dearer = sorted((float(one["usd"]), float(later["usd"])))
    return float(later["time"]) < _CLOSE_TIME * float(one["time"]) and dearer < _CLOSE_USD * cheaper


def _spec(values: Sequence[Mapping[str, Any]], unit: str) -> Spec:
    times = [value[end] for value in values for end in ("time_low", "time_high")]
    costs = [value[end] for value in values for end in ("usd_low", "usd_high")]
    precision = colours(values)
    measured = {"test": "datum.known == 'measured'", "field": "precision", "scale": precision["scale"]}

    def x(field: str) -> Spec:
        return log_axis(field, f"{unit} of the job", times, number_format="~r")

    def y(field: str) -> Spec:
        return log_axis(field, "dollars of the job", costs, number_format="$~r")

    whiskers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.5},
            "transform": [{"filter": "datum.whisker"}],
            "encoding": {**interval, "color": precision},
        }
        for interval in (
            {"x": x("time_low"), "x2": {"field": "time_high"}, "y": y("usd")},
            {"x": x("time"), "y": y("usd_low"), "y2": {"field": "usd_high"}},
        )
    ]
    shapes = {"domain": ["measured", "compiled", "predicted"], "range": ["circle", "diamond", "circle"]}
    return {
        "data": {"values": list(values)},
        "layer": [
            {
                "mark": {"type": "line", "color": NEUTRAL.css, "strokeWidth": 1.5},
                "transform": [{"filter": "datum.front"}],
                "encoding": {"x": x("time"), "y": y("usd"), "order": {"field": "time"}},
            },
            *whiskers,
            {
                "mark": {"type": "point", "size": 80, "strokeWidth": 2, "opacity": 1, "aria": True},
                "encoding": {
                    "x": x("time"),
                    "y": y("usd"),
                    "color": precision,
                    "fill": {"condition": measured, "value": PAGE.css},
                    "shape": {"field": "known", "type": "nominal", "scale": shapes, "legend": None},
                    "description": {"field": "label"},
                },
            },
            *_list_names(values, place={"x": x("time"), "y": y("usd")}),
        ],
    }


def _list_names(values: Sequence[Mapping[str, Any]], *, place: Spec) -> list[Spec]:
    """Build one layer of names for each side of the points on which a name stands."""
    return [
        {
            "mark": {"type": "text", "limit": 220} | offset,
            "transform": [{"filter": f"datum.side == '{side}'"}],
            "encoding": {**place, "text": {"field": "name"}},
        }
        for side, offset in _SIDES.items()
        if any(value.get("side") == side for value in values)
    ]


def _describe(recommendation: Recommendation, front: Sequence[RankedSetting]) -> str:
    listed = "; ".join(
        f"{one.setting}, {about(one.seconds)}, ${number(_usd(one), digits=2)}" for one in front
    )
    return f"Marks of {counted(len(recommendation.standings), 'setting')}. The likely front: {listed}."
