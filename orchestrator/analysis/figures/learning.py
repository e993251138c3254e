"""What trainings learn: quality over seconds to a target, and loss over steps, a band per setting."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from orchestrator.analysis.figures.palette import NEUTRAL
from orchestrator.analysis.figures.vega_lite import (
    Figure,
    Spec,
    axis,
    colours,
    dashes,
    drawn_as_groups,
    left_out,
    log_axis,
    mark_label,
    panels,
)
from orchestrator.analysis.formatting import counted, data_name, number
from orchestrator.analysis.measurements.setting import DETAILS, Setting, build_setting, format_label, varying
from orchestrator.core.result import TrialRecord

_MOST_PANELS, _MOST_FOLDED_PANELS = 24, 6
_MOST_POINTS = 60
_MOST_WORDS = 12
_DIFFERENCE = 0.1  # of the losses at the end, less is not seen
_HEIGHT_PIXELS = 240

Point = tuple[float, float]
"""(seconds or step, quality or loss)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The curves of one setting over its seeds and repeats.

    Attributes:
        points: (place, median, least, greatest), the median over the trials that have this point; of many
            points, those of groups of neighbours.
        num_points: points of the curve, before neighbours were grouped.
    """

    setting: Setting
    num_trials: int
    num_points: int
    points: tuple[tuple[float, float, float, float], ...]


def quality_figures(records: Iterable[TrialRecord]) -> Iterator[Figure]:
    """Draw quality over training seconds of every workload that was trained to a target."""
    groups: dict[tuple[str, str, float, str], list[TrialRecord]] = defaultdict(list)
    for record in records:
        pursuit = record.result.pursuit if record.result and record.provenance == "measured" else None
        if pursuit:
            target = pursuit.target
            groups[record.spec.workload, record.spec.data, target.value, target.metric].append(record)
    for (workload, data, value, metric), group in groups.items():
        if curves := build_curves(group, _quality_points):
            yield _figure(
                curves,
                title=f"{metric} over time: {workload}, {data_name(data)} data",
                caption=(
                    "Median over seeds and repeats. The band is their range. Seconds of training, without "
                    f"set-up and evaluations. Grey line: the target, {value:g}."
                ),
                x="seconds of training",
                y=metric,
                target=value,
            )


def loss_figures(records: Iterable[TrialRecord]) -> Iterator[Figure]:
    """Draw training loss over steps of every workload and its data."""
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for record in records:
        if record.result is not None and record.result.losses and record.provenance == "measured":
            groups[record.spec.workload, record.spec.data].append(record)
    for (workload, data), group in groups.items():
        curves = build_curves(
            group, lambda one: [(float(step), loss) for step, loss in one.result.losses] if one.result else []
        )
        if curves:
            yield _figure(
                curves,
                title=f"Training loss: {workload}, {data_name(data)} data",
                caption=(
                    "Loss of one step over its global batch, read outside the timed part. Line: median over "
                    "seeds and repeats. Band: their range."
                ),
                x="optimizer step",
                y="training loss",
                is_log=all(low > 0 for curve in curves for _, _, low, _ in curve.points),
                is_detail=not _differ(curves),
            )


def _quality_points(record: TrialRecord) -> list[Point]:
    pursuit = record.result.pursuit if record.result else None
    return [(one.training_seconds, one.quality) for one in pursuit.curve] if pursuit else []


def build_curves(
    records: Sequence[TrialRecord], load_points: Callable[[TrialRecord], list[Point]]
) -> list[Curve]:
    """Join the trials of each setting: the first points of all, the second points, and so on."""
    groups: dict[Setting, list[list[Point]]] = defaultdict(list)
    for record in records:
        groups[build_setting(record.spec)].append(
            [(place, value) for place, value in load_points(record) if math.isfinite(value)]
        )
    return [_curve(setting, trials) for setting, trials in groups.items() if any(trials)]


def _curve(setting: Setting, trials: Sequence[Sequence[Point]]) -> Curve:
    points = list(_joined(trials))
    return Curve(
        setting=setting, num_trials=len(trials), num_points=len(points), points=tuple(_grouped(points))
    )


def _joined(trials: Sequence[Sequence[Point]]) -> Iterator[tuple[float, float, float, float]]:
    for index in range(max(map(len, trials))):
        points = [trial[index] for trial in trials if index < len(trial)]
        values = [value for _, value in points]
        yield median(place for place, _ in points), median(values), min(values), max(values)


def _grouped(points: list[tuple[float, float, float, float]]) -> Iterator[tuple[float, float, float, float]]:
    """Join neighbours where there are too many to part by eye; the first and the last point stay alone."""
    size = math.ceil(len(points) / _MOST_POINTS)
    yield points[0]
    for start in range(1, len(points) - 1, size):
        group = points[start : min(start + size, len(points) - 1)]
        places, middles, lows, highs = zip(*group, strict=True)
        yield median(places), median(middles), min(lows), max(highs)
    if len(points) > 1:
        yield points[-1]


def _figure(
    curves: Sequence[Curve],
    *,
    title: str,
    caption: str,
    x: str,
    y: str,
    is_log: bool = False,
    target: float | None = None,
    is_detail: bool = False,
) -> Figure:
    """Draw curves in a panel per group of settings; `target` is the value that a training should reach."""
    settings = [curve.setting for curve in curves]
    apart = ("device", *varying(settings, DETAILS))
    found = list(dict.fromkeys(format_label(setting, apart) for setting in settings))
    most = _MOST_FOLDED_PANELS if is_detail else _MOST_PANELS
    names = found[:most]
    values = [
        value
        for curve in curves
        if (panel := format_label(curve.setting, apart)) in names
        for value in _list_values(curve, panel)
    ]
    spec = _spec(values, x, y, is_log=is_log, target=target)
    longest = max(curves, key=lambda curve: curve.num_points)

    return Figure(
        title=title,
        caption=caption
        + drawn_as_groups(longest.num_points, _MOST_POINTS, len(longest.points), "points of a curve")
        + left_out(len(found), most, "groups of settings, the first"),
        alternative=_describe(curves, y),
        build_spec=lambda width: panels(names, spec, width=width, height=_HEIGHT_PIXELS),
        is_detail=is_detail,
    )


def _differ(curves: Sequence[Curve]) -> bool:
    """Return whether the ranges at the end are apart, and by more than `_DIFFERENCE` of a median."""
    ends = [curve.points[-1] for curve in curves]
    medians = [middle for _, middle, _, _ in ends]
    is_apart = max(low for _, _, low, _ in ends) > min(high for *_, high in ends)
    return is_apart and max(medians) - min(medians) > _DIFFERENCE * abs(min(medians))


def _list_values(curve: Curve, panel: str) -> Iterator[dict[str, Any]]:
    setting = curve.setting
    line = f"{setting.trainer}, {setting.precision}"
    for index, (place, middle, low, high) in enumerate(curve.points):
        is_last = index == len(curve.points) - 1
        words = f"{panel}, {line}: {number(middle)} at the end, {counted(curve.num_trials, 'trial')}"
        yield {
            "panel": panel,
            "precision": setting.precision,
            "trainer": setting.trainer,
            "x": place,
            "y": middle,
            "low": low,
            "high": high,
            "end": is_last,
            **({"label": mark_label(words)} if is_last else {}),
        }


def _spec(
    values: Sequence[Mapping[str, Any]], x_title: str, y_title: str, *, is_log: bool, target: float | None
) -> Spec:
    ends = [value[end] for value in values for end in ("low", "high")]

    def y(field: str) -> Spec:
        if is_log:
            return log_axis(field, y_title, ends, number_format="~g")
        return {**axis(field, y_title), "scale": {"zero": False}}

    precision = colours(values)
    trainers = dashes(values, field="trainer")
    lines: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.18},
            "encoding": {
                "y": y("low"),
                "y2": {"field": "high"},
                "fill": precision,
                "detail": {"field": "trainer"},
            },
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"y": y("y"), "color": precision, "strokeDash": trainers},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1, "aria": True},
            "transform": [{"filter": "datum.end"}],
            "encoding": {"y": y("y"), "color": precision, "description": {"field": "label"}},
        },
    ]
    if target is not None:
        rule = {"type": "rule", "strokeWidth": 1.5, "color": NEUTRAL.css}
        lines.append({"mark": rule, "encoding": {"x": None, "y": {"datum": target}}})
    return {
        "data": {"values": list(values)},
        "encoding": {"x": {**axis("x", x_title), "scale": {"zero": True}}},
        "layer": lines,
    }


def _describe(curves: Sequence[Curve], what: str) -> str:
    names = ("device", "trainer", "precision")
    ends = [
        f"{format_label(curve.setting, names)} ends at {number(curve.points[-1][1])}"
        for curve in curves[:_MOST_WORDS]
    ]
    return f"Curves of {what} of {counted(len(curves), 'setting')}: {'; '.join(ends)}."
