"""Speed-up of split convolutions over workers, kernels, batch and bandwidth: measured and predicted."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.analysis.figures.palette import NEUTRAL, SHAPES
from orchestrator.analysis.figures.vega_lite import (
    Figure,
    Spec,
    axis,
    counts_axis,
    left_out,
    log_axis,
    mark_label,
    single,
)
from orchestrator.analysis.formatting import ratio
from orchestrator.core.interval import Spread
from orchestrator.extensions.kernel_split.analysis.model import SplitModel
from orchestrator.extensions.kernel_split.analysis.speedups import (
    KERNELS,
    PlatformResults,
    SplitConfig,
    SplitMeasurement,
    kernels_in,
    usual_kernels,
    with_kernels,
)
from orchestrator.extensions.kernel_split.analysis.step_time import most_speed_up
from orchestrator.extensions.kernel_split.analysis.tables import PAPER, PAPER_POINTS, is_of_paper
from orchestrator.extensions.kernel_split.analysis.wording import colons, machine_words, work_words

_HEIGHT_PIXELS = 320
_MOST_LINES = len(SHAPES) - 1
_LEAST_WORKERS = 8
_LARGER_BATCHES = (2, 4, 8, 16)
_LARGER_KERNELS = (2, 5)
_BANDWIDTHS = tuple(10 ** (index / 10) for index in range(-20, 21))
"""Times the one that was measured."""

_READING = (
    "Marks are measured, over one worker that is alike in all else, with 95% intervals over repeats. Dashed "
    "lines are predicted by the model of time (docs/explanation/predictions.md) from the calibrations of "
    "these trials; the table of split convolutions says how far it was off"
)

_WHICH = "lines, those of the longest steps"
_STARS = (
    f" The grey cross and diamond are those of {PAPER}, with what Amdahl's law allows equal devices that "
    "reach them."
)

CurvePoints = Sequence[tuple[float, float]]
"""(place, predicted speed-up)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpeedupCurve:
    """Settings that differ in nothing but what a figure is over; marks are (place, measured speed-up)."""

    name: str
    marks: Sequence[tuple[float, Spread]]
    curve: CurvePoints


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Content of a figure.

    Attributes:
        over: quantity on its x axis.
        reading: part of the caption that explains how to read it.
        axis: encoding of that quantity.
        more: layers beside the lines.
    """

    over: str
    reading: str
    lines: Sequence[_SpeedupCurve]
    axis: Spec
    more: Sequence[Spec] = field(default=())


def split_figures(families: Sequence[PlatformResults]) -> tuple[Figure, ...]:
    """Draw up to four figures per platform; none where too little was measured and nothing is predicted."""
    views = (_over_workers, _over_kernels, _over_batches, _over_links)
    shown_ones = ((family, view(family)) for family in families if family.splits for view in views)
    return tuple(
        _figure(family, view)
        for family, view in shown_ones
        if any(line.curve or len(line.marks) > 1 for line in view.lines)
    )


def _over_workers(family: PlatformResults) -> _View:
    most = max([_LEAST_WORKERS, *(2 * split.work.workers for split in family.splits)])

    def curve(one: SplitMeasurement) -> CurvePoints:
        return _curve(family, [(index, replace(one.work, workers=index)) for index in range(1, most + 1)])

    of_paper = is_of_paper(family.machine)
    return _View(
        over="workers",
        reading="; more workers than were calibrated are taken to be as fast, each on a device of its own."
        + (_STARS if of_paper else ""),
        lines=_lines(family, "workers", place=lambda config: config.workers, curve=curve),
        axis={**axis(_X, "workers"), "axis": {"values": list(range(1, most + 1)), "labelOverlap": True}},
        more=[*_paper_layers(most)] if of_paper else (),
    )


def _over_kernels(family: PlatformResults) -> _View:
    name = family.machine.workload
    sizes = {kernels for split in family.splits if (kernels := kernels_in(name, split.work.options))}
    places = sorted({*sizes, *_larger(sizes, usual_kernels(name))}, key=sum)

    def curve(one: SplitMeasurement) -> CurvePoints:
        return _curve(family, [(sum(place), with_kernels(one.work, place)) for place in places])

    lines = _lines(family, KERNELS, place=lambda config: sum(kernels_in(name, config.options)), curve=curve)
    return _View(
        over="kernels",
        reading=".",
        lines=lines if sizes else (),
        axis=_kernels_axis({sum(place): colons(place) for place in places}),
    )


def _larger(sizes: Iterable[tuple[int, ...]], usual: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Multiples of the largest below the workload's usual number, and that one; or else its double."""
    largest = max(sizes, key=sum, default=())
    if largest and sum(largest) >= sum(usual):
        yield tuple(2 * batch for batch in largest)
    elif largest:
        for factor in _LARGER_KERNELS:
            if factor * sum(largest) < sum(usual):
                yield tuple(factor * batch for batch in largest)
        yield usual


def _over_batches(family: PlatformResults) -> _View:
    batches = {split.work.batch for split in family.splits}
    places = sorted({*batches, *(factor * max(batches) for factor in _LARGER_BATCHES)})

    def curve(one: SplitMeasurement) -> CurvePoints:
        return _curve(family, [(place, replace(one.work, batch=place)) for place in places])

    return _View(
        over="batch",
        reading=".",
        lines=_lines(family, "batch", place=lambda config: config.batch, curve=curve),
        axis=counts_axis(_X, "global batch", places),
    )


def _over_links(family: PlatformResults) -> _View:
    """Plot speed-ups over link rates, with marks at the measured link."""
    lines = [
        _SpeedupCurve(
            name=_find_name(family, split),
            marks=[(link / 1e9, split.speed_up)] if split.speed_up else [],
            curve=[(factor * link / 1e9, model.over(factor * link).speed_up) for factor in _BANDWIDTHS],
        )
        for split in _largest_first(family.splits)
        if isinstance(model := family.model(split.work), SplitModel)
        for link in [model.link.bytes_per_second]
    ]
    return _View(
        over="bandwidth",
        reading="; marks lie at the link that was measured.",
        lines=lines,
        axis=log_axis(
            _X,
            "GB/s from the master to the others",
            [place for line in lines for place, _ in (*line.curve, *line.marks)] or [1.0],
            number_format="~g",
        ),
    )


def _lines(
    family: PlatformResults,
    without: str,
    *,
    place: Callable[[SplitConfig], float],
    curve: Callable[[SplitMeasurement], CurvePoints],
) -> list[_SpeedupCurve]:
    alike: dict[str, list[SplitMeasurement]] = defaultdict(list)
    for split in _largest_first(family.splits):
        alike[_find_name(family, split, without=without)].append(split)
    return [
        _SpeedupCurve(
            name=name,
            marks=sorted(
                ((place(split.work), split.speed_up) for split in group if split.speed_up), key=_place
            ),
            curve=curve(group[0]),
        )
        for name, group in alike.items()
    ]


def _find_name(family: PlatformResults, split: SplitMeasurement, *, without: str = "") -> str:
    ran_with = split.measured.setting.ran_with
    words = work_words(family.machine.workload, split.work, without=without)
    return f"{words}, {ran_with}" if ran_with else words


def _place(mark: tuple[float, Spread]) -> float:
    return mark[0]


def _largest_first(splits: Iterable[SplitMeasurement]) -> list[SplitMeasurement]:
    return sorted(splits, key=lambda split: -split.measured.step_seconds.median)


def _curve(family: PlatformResults, works: Iterable[tuple[float, SplitConfig]]) -> CurvePoints:
    """Return the points of the curve as far as the model predicts."""
    models = ((place, family.model(work)) for place, work in works)
    return [(place, model.speed_up) for place, model in models if isinstance(model, SplitModel)]


def _kernels_axis(places: Mapping[int, str]) -> Spec:
    """Encode the number of kernels; ticks show those of each layer."""
    encoding = counts_axis(_X, "kernels of the convolutions", list(places) or [1])
    words = " : ".join(f"datum.value == {place} ? '{text}'" for place, text in places.items())
    return {**encoding, "axis": {**encoding["axis"], "labelExpr": f"{words} : ''"}} if places else encoding


def _figure(family: PlatformResults, view: _View) -> Figure:
    drawn = [line for line in view.lines if line.curve or line.marks]
    lines = drawn[:_MOST_LINES]
    return Figure(
        title=f"Speed-up over {view.over} of {machine_words(family.machine)}, split",
        caption=f"{_READING}{view.reading}" + left_out(len(drawn), _MOST_LINES, _WHICH),
        alternative=f"Lines over {view.over}: {'; '.join(map(_describe_curve, lines))}.",
        build_spec=lambda width: single(_build_spec(lines, view), width=width, height=_HEIGHT_PIXELS),
    )


def _describe_curve(line: _SpeedupCurve) -> str:
    measured = [f"measured {ratio(value)} at {place:.4g}" for place, value in line.marks]
    ends = [line.curve[0], line.curve[-1]] if line.curve else []
    return f"{line.name}: {', '.join([*measured, *(f'predicted {y:.2f}x at {x:.4g}' for x, y in ends)])}"


_X, _Y = "x", "speed_up"
_SPEED_UP = "speed-up over one worker"


def _build_spec(lines: Sequence[_SpeedupCurve], view: _View) -> Spec:
    names = [line.name for line in lines]
    colours = [shape.css for shape in SHAPES[: len(names)]]
    colour: Spec = {
        "field": "line",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": colours},
        "legend": {"columns": 1},
    }
    y = {**axis(_Y, _SPEED_UP), "scale": {"zero": True}}
    curves = [
        {"line": line.name, _X: place, _Y: speed_up} for line in lines for place, speed_up in line.curve
    ]
    marks = [_find_mark(line.name, place, value) for line in lines for place, value in line.marks]
    one: Spec = {"mark": {"type": "rule", "color": NEUTRAL.css}, "encoding": {"x": None, "y": {"datum": 1}}}
    return {
        "encoding": {"x": view.axis},
        "layer": [
            {
                "data": {"values": curves},
                "mark": {"type": "line", "strokeWidth": 2, "strokeDash": [5, 4]},
                "encoding": {"y": y, "color": colour},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.7},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "aria": True},
                "encoding": {"y": y, "color": colour, "description": {"field": "label"}},
            },
            one,
            *view.more,
        ],
    }


def _find_mark(name: str, place: float, value: Spread) -> dict[str, Any]:
    return {
        "line": name,
        _X: place,
        _Y: value.median,
        "low": value.low,
        "high": value.high,
        "label": mark_label(f"{name}, measured: {ratio(value)}"),
    }


def _paper_layers(most: int) -> Iterator[Spec]:
    """Yield the paper's two points, and the bound that runs through each."""
    for point, symbol, dash in zip(PAPER_POINTS, ("cross", "diamond"), ([2, 3], [6, 3, 2, 3]), strict=True):
        mark = mark_label(f"the paper, {point.words}: {point.speed_up:.2f}x")
        place = {_X: point.devices, _Y: point.speed_up, "label": mark}
        bound = [{_X: count, _Y: most_speed_up(point.least_fraction, count)} for count in range(1, most + 1)]
        yield {
            "data": {"values": bound},
            "mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": dash, "color": NEUTRAL.css},
            "encoding": {"y": axis(_Y, _SPEED_UP)},
        }
        yield {
            "data": {"values": [place]},
            "mark": {"type": "point", "filled": True, "size": 140, "shape": symbol, "aria": True},
            "encoding": {
                "y": axis(_Y, _SPEED_UP),
                "color": {"value": NEUTRAL.css},
                "description": {"field": "label"},
            },
        }
