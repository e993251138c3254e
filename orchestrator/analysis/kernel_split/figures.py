"""Speed-up of split convolutions over workers, kernels, batch and bandwidth: measured and predicted."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from math import log10
from typing import Any

from orchestrator.analysis.figures.plots import COLOURS, NEUTRAL, Figure, left_out, shown
from orchestrator.analysis.formatting import ratio
from orchestrator.analysis.kernel_split.model import SplitModel
from orchestrator.analysis.kernel_split.speedups import (
    KERNELS,
    PlatformResults,
    SplitConfig,
    SplitMeasurement,
    kernels_in,
    usual_kernels,
    with_kernels,
)
from orchestrator.analysis.kernel_split.step_time import most_speed_up
from orchestrator.analysis.kernel_split.tables import PAPER, PAPER_POINTS, is_of_paper
from orchestrator.analysis.kernel_split.wording import colons, machine_words, work_words
from orchestrator.core.interval import Spread

_HEIGHT_PIXELS = 480
_MOST_LINES = len(COLOURS)
_LEAST_WORKERS = 8
_ROOM = 0.05  # of a decade
_LARGER_BATCHES = (2, 4, 8, 16)
_LARGER_KERNELS = (2, 5)
_BANDWIDTHS = tuple(10 ** (index / 10) for index in range(-20, 21))
"""Times the one that was measured."""

_READING = (
    "Marks are measured, over one worker that is alike in all else, with 95% intervals over repeats. Dashed "
    "lines are predicted by the model of time (docs/prediction.md) from the calibrations of these trials; "
    "the table of split convolutions says how far it was off"
)

_WHICH = "lines, those of the longest steps"
_STARS = f" Stars are those of {PAPER}, with what Amdahl's law allows equal devices that reach them."

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
        told: part of the caption that explains how to read it.
        axis: axis settings of the layout.
        more: traces beside the lines.
    """

    over: str
    told: str
    lines: Sequence[_SpeedupCurve]
    axis: Mapping[str, Any]
    more: Sequence[Mapping[str, Any]] = field(default=())


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
        told="; more workers than were calibrated are taken to be as fast, each on a device of its own."
        + (_STARS if of_paper else ""),
        lines=_lines(family, "workers", place=lambda config: config.workers, curve=curve),
        axis={"title": {"text": "workers"}, "dtick": 1},
        more=[*_paper_traces(most)] if of_paper else (),
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
        told=".",
        lines=lines if sizes else (),
        axis={
            "title": {"text": "kernels of the convolutions"},
            **_ticks({sum(place): colons(place) for place in places}),
        },
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
        told=".",
        lines=_lines(family, "batch", place=lambda config: config.batch, curve=curve),
        axis={"title": {"text": "global batch"}, **_ticks({place: f"{place:,}" for place in places})},
    )


def _over_links(family: PlatformResults) -> _View:
    """Plot speed-ups over link rates, with marks at the measured link."""
    lines = [
        _SpeedupCurve(
            name=_name_of(family, split),
            marks=[(link / 1e9, split.speed_up)] if split.speed_up else [],
            curve=[(factor * link / 1e9, model.over(factor * link).speed_up) for factor in _BANDWIDTHS],
        )
        for split in _largest_first(family.splits)
        if isinstance(model := family.model(split.work), SplitModel)
        for link in [model.link.bytes_per_second]
    ]
    return _View(
        over="bandwidth",
        told="; marks lie at the link that was measured.",
        lines=lines,
        axis={
            "title": {"text": "GB/s from the master to the others"},
            **_logarithmic({10.0**index: f"{10.0**index:g}" for index in range(-6, 7)}),
        },
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
        alike[_name_of(family, split, without=without)].append(split)
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


def _name_of(family: PlatformResults, split: SplitMeasurement, *, without: str = "") -> str:
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


def _ticks(places: Mapping[float, str]) -> dict[str, Any]:
    """Return the ticks of a logarithmic axis from the first position to the last, with room for every
    label.
    """
    first, last = (log10(end(places, default=1)) for end in (min, max))
    return {**_logarithmic(places), "range": [first - _ROOM, last + _ROOM]}


def _logarithmic(places: Mapping[float, str]) -> dict[str, Any]:
    return {
        "type": "log",
        "tickvals": list(places),
        "ticktext": list(places.values()),
        "autotickangles": [0, -45, -90],  # towards the figure, whose edge hides what leaves it
    }


def _figure(family: PlatformResults, view: _View) -> Figure:
    drawn = [line for line in view.lines if line.curve or line.marks]
    lines = drawn[:_MOST_LINES]
    return Figure(
        title=f"Speed-up over {view.over} of {machine_words(family.machine)}, split",
        caption=f"{_READING}{view.told}" + left_out(len(drawn), _MOST_LINES, _WHICH),
        alternative=_describe_curves(view.over, lines),
        height_pixels=_HEIGHT_PIXELS,
        plot={
            "data": [
                *(trace for line, colour in zip(lines, cycle(COLOURS)) for trace in _traces(line, colour)),
                *view.more,
            ],
            "layout": {
                "xaxis": dict(view.axis),
                "yaxis": {"title": {"text": "speed-up over one worker"}, "rangemode": "tozero"},
                "shapes": [_ONE],
            },
        },
    )


_ONE = {
    "type": "line",
    "xref": "paper",
    "x0": 0,
    "x1": 1,
    "y0": 1,
    "y1": 1,
    "line": {"color": NEUTRAL, "width": 1},
}


def _describe_curves(over: str, lines: Iterable[_SpeedupCurve]) -> str:
    return f"Lines over {over}: {'; '.join(map(_describe_curve, lines))}."


def _describe_curve(line: _SpeedupCurve) -> str:
    measured = [f"measured {ratio(value)} at {place:.4g}" for place, value in line.marks]
    ends = [line.curve[0], line.curve[-1]] if line.curve else []
    return f"{line.name}: {', '.join([*measured, *(f'predicted {y:.2f}x at {x:.4g}' for x, y in ends)])}"


def _traces(line: _SpeedupCurve, colour: str) -> Iterator[dict[str, Any]]:
    hover = "%{x}: %{y:.2f}x<extra>%{fullData.name}</extra>"
    group = {"type": "scatter", "legendgroup": shown(line.name), "hovertemplate": hover}
    if line.curve:
        yield {
            **group,
            "mode": "lines",
            "name": shown(f"{line.name}, predicted"),
            "line": {"color": colour, "width": 2, "dash": "dash"},
            "x": [place for place, _ in line.curve],
            "y": [speed_up for _, speed_up in line.curve],
        }
    if line.marks:
        yield {
            **group,
            "mode": "markers",
            "name": shown(f"{line.name}, measured"),
            "marker": {"color": colour, "size": 9},
            "x": [place for place, _ in line.marks],
            "y": [value.median for _, value in line.marks],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [value.high - value.median for _, value in line.marks],
                "arrayminus": [value.median - value.low for _, value in line.marks],
            },
        }


def _paper_traces(most: int) -> Iterator[dict[str, Any]]:
    """Yield the paper's two points, and the bound that runs through each."""
    for point, symbol, dash in zip(PAPER_POINTS, ("star", "star-diamond"), ("dot", "dashdot"), strict=True):
        shared = {"type": "scatter", "legendgroup": point.words}
        yield {
            **shared,
            "mode": "markers",
            "name": f"the paper, {point.words}: {point.speed_up:.2f}x",
            "marker": {"color": NEUTRAL, "size": 13, "symbol": symbol},
            "x": [point.devices],
            "y": [point.speed_up],
            "hovertemplate": "%{y:.2f}x<extra>%{fullData.name}</extra>",
        }
        yield {
            **shared,
            "mode": "lines",
            "name": f"Amdahl's law, convolutions {point.least_fraction:.1%}",
            "line": {"color": NEUTRAL, "width": 1.5, "dash": dash},
            "x": list(range(1, most + 1)),
            "y": [most_speed_up(point.least_fraction, count) for count in range(1, most + 1)],
            "hovertemplate": "%{x}: at most %{y:.2f}x<extra>%{fullData.name}</extra>",
        }
