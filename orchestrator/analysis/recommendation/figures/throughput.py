"""Samples per second over the batch size, a panel per device: measured marks filled, all others hollow."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis.figures.palette import PAGE
from orchestrator.analysis.figures.vega_lite import (
    Figure,
    Spec,
    colours,
    counts_axis,
    dashes,
    drawn_as_groups,
    left_out,
    log_axis,
    mark_label,
    panels,
)
from orchestrator.analysis.formatting import counted, number
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation

_BATCH, _DEVICE, _TRAINER, _PRECISION = "global_batch_size", "device", "trainer", "precision"
_AXES = (_BATCH, _DEVICE, _TRAINER, _PRECISION)
_MOST_PANELS = 24
_MOST_POINTS = 40  # of a line: at the width of a panel more of them touch each other
_MOST_WORDS = 12
_HEIGHT_PIXELS = 220

RowIds = Mapping[tuple[str, str], str]
"""(job, setting) -> id of its row in the page."""

Line = tuple[str, str, str]
"""Panel, trainer and precision: settings that differ in their batch alone."""


def throughput_figures(recommendations: Sequence[Recommendation], row_ids: RowIds) -> Iterator[Figure]:
    """Draw a figure for every job with several batch sizes."""
    for recommendation in recommendations:
        lines = {line: points for line, points in _find_lines(recommendation).items() if len(points) > 1}
        if lines:
            yield _figure(recommendation.job, lines, row_ids)


def _find_lines(recommendation: Recommendation) -> dict[Line, list[RankedSetting]]:
    lines: dict[Line, list[RankedSetting]] = defaultdict(list)
    for standing in recommendation.standings:
        factors = standing.factors
        others = [f"{key.rpartition('.')[2]} {value}" for key, value in factors.items() if key not in _AXES]
        panel = ", ".join([standing.device, *(words for words in others if words != "num_workers 1")])
        trainer = factors.get(_TRAINER, "") if standing.rates else standing.provenance
        lines[panel, trainer, factors.get(_PRECISION, "")].append(standing)
    return {line: sorted(points, key=lambda one: one.batch_size) for line, points in lines.items()}


def _figure(job: str, lines: Mapping[Line, Sequence[RankedSetting]], row_ids: RowIds) -> Figure:
    found = list(dict.fromkeys(panel for panel, _, _ in lines))
    names = found[:_MOST_PANELS]
    shown = {line: points for line, points in lines.items() if line[0] in names}
    values = [
        _value(line, group, row=row_ids[job, _find_middle(group).setting])
        for line, points in shown.items()
        for group in _group_neighbours(points)
    ]
    longest = max(shown.values(), key=len)
    spec = _spec(values)

    return Figure(
        title=f"Throughput over the batch size: {job}",
        caption=(
            "Log axes. Filled: measured, with the range of the repeats. Hollow: predicted or compiled, with "
            "its 90% interval. Where a line is flat, a larger batch gains nothing."
            + drawn_as_groups(
                len(longest),
                _MOST_POINTS,
                len(_group_neighbours(longest)),
                "measurements or predictions of a line",
            )
            + left_out(len(found), _MOST_PANELS, "devices, the likeliest first")
        ),
        alternative=_describe(lines),
        build_spec=lambda width: panels(names, spec, width=width, height=_HEIGHT_PIXELS),
    )


def _group_neighbours(points: Sequence[RankedSetting]) -> list[Sequence[RankedSetting]]:
    """Group neighbours of a line where it has more points than an eye can part; else each is a group."""
    size = math.ceil(len(points) / _MOST_POINTS)
    return [points[start : start + size] for start in range(0, len(points), size)]


def _find_middle(group: Sequence[RankedSetting]) -> RankedSetting:
    """Return the setting of a group with the median rate."""
    return sorted(group, key=lambda one: one.samples_per_second.median)[len(group) // 2]


def _value(line: Line, group: Sequence[RankedSetting], *, row: str) -> dict[str, Any]:
    """Return the mark of a group: its median setting, with the range of all of them."""
    panel, trainer, precision = line
    point = _find_middle(group)
    rate = point.samples_per_second
    others = f", one of {len(group)} drawn together" if len(group) > 1 else ""
    words = f"{point.setting}: {number(rate.median)} samples/s, {point.provenance}{others}"
    return {
        "panel": panel,
        "trainer": trainer,
        "precision": precision,
        "batch": point.batch_size,
        "rate": rate.median,
        "low": min(one.samples_per_second.low for one in group),
        "high": max(one.samples_per_second.high for one in group),
        "measured": any(one.rates for one in group),
        "label": mark_label(words, row=row),
    }


def _spec(values: Sequence[Mapping[str, Any]]) -> Spec:
    ends = [value[end] for value in values for end in ("low", "high")]
    precision = colours(values)
    measured = {"test": "datum.measured", "field": "precision", "scale": precision["scale"]}
    low, rate = (log_axis(name, "samples/s", ends) for name in ("low", "rate"))
    trainers = dashes(values, field="trainer")
    return {
        "data": {"values": list(values)},
        "encoding": {
            "x": counts_axis("batch", "global batch", [value["batch"] for value in values]),
            "color": precision,
        },
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"y": rate, "strokeDash": trainers}},
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.6},
                "encoding": {"y": low, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "size": 50, "strokeWidth": 2, "opacity": 1, "aria": True},
                "encoding": {
                    "y": rate,
                    "fill": {"condition": measured, "value": PAGE.css},
                    "description": {"field": "label"},
                },
            },
        ],
    }


def _describe(lines: Mapping[Line, Sequence[RankedSetting]]) -> str:
    ends = [
        f"{' '.join(line)} from {number(points[0].samples_per_second.median)} samples/s at batch "
        f"{points[0].batch_size:,} to {number(points[-1].samples_per_second.median)} at batch "
        f"{points[-1].batch_size:,}"
        for line, points in lines.items()
    ]
    return f"{counted(len(lines), 'line')} of throughput: {'; '.join(ends[:_MOST_WORDS])}."
