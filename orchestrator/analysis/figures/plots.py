"""Figures of a report as Plotly's JSON; colours of text and grid are the page's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from math import floor, isfinite, log10
from typing import Any

from orchestrator.analysis.formatting import counted, data_name, number, spread
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import DETAILS, label_of, setting_of, varying
from orchestrator.core.result import TrialRecord

# Told apart by colour-blind readers, and seen on pages that are light or dark.
COLOURS = ("#2f6db3", "#b8560f", "#2b8a3e", "#9c50b2", "#c43c5e", "#0f7f86")
NEUTRAL = "#76808c"
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MOST_CHARACTERS = 32
_BAR_PIXELS = 26
_MOST_BARS = 60
_MOST_CURVES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its title and a sentence on how to read it; `plot` is what Plotly draws.

    Attributes:
        alternative: text alternative of the figure, for screen readers.
    """

    title: str
    caption: str
    alternative: str
    height_pixels: int
    plot: Mapping[str, Any]


def throughput_figures(measured: Sequence[Measurement]) -> tuple[Figure, ...]:
    """Samples per second as bars, trainer by precision: one figure per workload and data.

    A trainer that trains nothing has no bar: it would hide the others.
    """
    groups: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for member in (measurement for measurement in measured if measurement.trains):
        groups[member.setting.workload, member.setting.data].append(member)
    return tuple(
        Figure(
            title=f"Throughput of {workload}, {data_name(data)} data",
            caption=("Samples per second in the steady state; whiskers are the brackets of the table.")
            + left_out(len(group), _MOST_BARS, "settings, the fastest"),
            alternative=_describe_bars(group),
            height_pixels=110 + _BAR_PIXELS * min(len(group), _MOST_BARS),
            plot=_bar_plot(_fastest(group)),
        )
        for (workload, data), group in groups.items()
    )


def _describe_bars(group: Sequence[Measurement]) -> str:
    ranked = sorted(group, key=lambda member: -member.samples_per_second.median)
    names = ("device", "trainer", "precision")
    ends = dict(zip(("fastest", "slowest"), (ranked[0], ranked[-1]), strict=True))
    sentences = [
        f"{end} {label_of(member.setting, names)} with {spread(member.samples_per_second)} samples per second"
        for end, member in ends.items()
    ]
    return f"Bars of {counted(len(group), 'setting')}: {', '.join(sentences)}."


def _fastest(group: Sequence[Measurement]) -> list[Measurement]:
    """Return the first measurements, as many as a figure can show."""
    least = sorted((measurement.samples_per_second.median for measurement in group), reverse=True)[
        :_MOST_BARS
    ][-1]
    return [measurement for measurement in group if measurement.samples_per_second.median >= least]


def left_out(count: int, most: int, what: str) -> str:
    """Return the caption's addition where a figure cannot show everything; tables and CSV files can."""
    return f" It shows {most:,} of {count:,} {what}." if count > most else ""


def _bar_plot(group: Sequence[Measurement]) -> dict[str, Any]:
    names = ("trainer", *varying([measurement.setting for measurement in group], ("device", *DETAILS)))
    labels = dict.fromkeys(label_of(measurement.setting, names) for measurement in group)
    ticks = {
        "tickvals": [shown(label) for label in labels],
        "ticktext": [shown(name) for name in shortened(list(labels))],
    }
    return {
        "data": _bars(group, names),
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": "samples/s"}, "rangemode": "tozero"},
            "yaxis": {"autorange": "reversed", **ticks},
        },
    }


def _bars(group: Sequence[Measurement], names: Sequence[str]) -> list[dict[str, Any]]:
    colours = _colours_of(measurement.setting.precision for measurement in group)
    return [
        _bars_of([measurement for measurement in group if measurement.setting.precision == precision], names)
        | {"name": shown(precision), "marker": {"color": colour}}
        for precision, colour in colours.items()
    ]


def _bars_of(group: Sequence[Measurement], names: Sequence[str]) -> dict[str, Any]:
    rates = [measurement.samples_per_second for measurement in group]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [rate.median for rate in rates],
        "y": [shown(label_of(measurement.setting, names)) for measurement in group],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [rate.high - rate.median for rate in rates],
            "arrayminus": [rate.median - rate.low for rate in rates],
        },
        "hovertemplate": "%{x:,.4~r} samples/s<extra>%{y}, %{fullData.name}</extra>",
    }


def loss_figures(records: Iterable[TrialRecord]) -> tuple[Figure, ...]:
    """Training loss over steps, a line per measured trial: one figure per workload and data."""
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for record in records:
        if record.result is not None and record.result.losses and record.provenance == "measured":
            groups[record.spec.workload, record.spec.data].append(record)
    return tuple(
        Figure(
            title=f"Training loss of {workload}, {data_name(data)} data",
            caption="Loss of one step over its global batch, read outside the timed part."
            + left_out(len(group), _MOST_CURVES, "trials, the first"),
            alternative=_describe_curves(group),
            height_pixels=420,
            plot={"data": _curves(group[:_MOST_CURVES]), "layout": _loss_layout_of(group[:_MOST_CURVES])},
        )
        for (workload, data), group in groups.items()
    )


def _describe_curves(group: Sequence[TrialRecord]) -> str:
    last = [record.result.losses[-1][1] for record in group if record.result]
    ends = f"last loss from {number(min(last))} to {number(max(last))}"
    return f"Curves of {counted(len(group), 'trial')}: {ends}."


def _loss_layout_of(group: Sequence[TrialRecord]) -> dict[str, Any]:
    losses = [loss for record in group if record.result for _, loss in record.result.losses if isfinite(loss)]
    return {
        "xaxis": {"title": {"text": "optimizer step"}},
        "yaxis": {"title": {"text": "training loss"}, **_scale_of(losses)},
    }


def _scale_of(losses: Sequence[float]) -> dict[str, Any]:
    """Logarithmic with ticks at 1, 2 and 5 of each decade, each with its whole number; linear below 0."""
    if not losses or min(losses) <= 0:
        return {"type": "linear"}
    decades = range(floor(log10(min(losses))), floor(log10(max(losses))) + 2)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _curves(group: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """Colours tell precisions, as in the bars; dashes tell trainers; repeats share a legend entry."""
    settings = [setting_of(record.spec) for record in group]
    names = ("trainer", "precision", *varying(settings, ("device", *DETAILS)))
    colours = _colours_of(setting.precision for setting in settings)
    dashes = dict(zip(sorted({setting.trainer for setting in settings}), cycle(_DASHES)))
    seen: set[str] = set()
    curves = []
    for record, setting in zip(group, settings, strict=True):
        name = shown(label_of(setting, names))
        line = {"color": colours[setting.precision], "dash": dashes[setting.trainer], "width": 2}
        curves.append(_curve_of(record, name) | {"line": line, "showlegend": name not in seen})
        seen.add(name)
    return curves


def _curve_of(record: TrialRecord, name: str) -> dict[str, Any]:
    losses = record.result.losses if record.result else ()
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "x": [step for step, _ in losses],
        "y": [loss if isfinite(loss) else None for _, loss in losses],
        "hovertemplate": "step %{x}: %{y:.4~r}<extra>%{fullData.name}</extra>",
    }


def shown(words: str) -> str:
    """Words that Plotly, which reads markup, shows as they are; it does not know quotes as entities."""
    return escape(words, quote=False)


def shortened(labels: Sequence[str]) -> list[str]:
    """Labels for which a figure has room; as they are where that would make different ones alike.

    What the mouse points at is told whole.
    """
    short = [label if len(label) <= _MOST_CHARACTERS else f"{label[:_MOST_CHARACTERS]}…" for label in labels]
    return short if len(set(short)) == len(set(labels)) else list(labels)


def _colours_of(precisions: Iterable[str]) -> dict[str, str]:
    return dict(zip(sorted(set(precisions)), cycle(COLOURS)))
