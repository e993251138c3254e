"""Figures of a report as Plotly's JSON; colours of text and grid are the page's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from math import isfinite
from typing import Any

from orchestrator.analysis.measured import Measured
from orchestrator.analysis.setting import DETAILS, label_of, setting_of, varying
from orchestrator.analysis.wording import data_name
from orchestrator.core.result import TrialRecord

# Told apart by colour-blind readers; white text is readable on them, and they on white and on black.
COLOURS = ("#2f6db3", "#b8560f", "#2b8a3e", "#8a3f9e", "#a8324f", "#0f7f86")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_BAR_PIXELS = 26
_MOST_BARS = 60
_MOST_CURVES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its title and a sentence on what it shows; `plot` is what Plotly draws."""

    title: str
    caption: str
    height_pixels: int
    plot: Mapping[str, Any]


def throughput_figures(measured: Sequence[Measured]) -> tuple[Figure, ...]:
    """Samples per second as bars, trainer by precision: one figure per workload and data.

    A trainer that trains nothing has no bar: it would hide the others.
    """
    groups: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for each in (each for each in measured if each.trains):
        groups[each.setting.workload, each.setting.data].append(each)
    return tuple(
        Figure(
            title=f"Throughput of {workload}, {data_name(data)} data",
            caption="Samples per second in the steady state; whiskers as the brackets of the table."
            + left_out(len(group), _MOST_BARS, "settings, the fastest"),
            height_pixels=110 + _BAR_PIXELS * min(len(group), _MOST_BARS),
            plot={"data": _bars(_fastest(group)), "layout": _BAR_LAYOUT},
        )
        for (workload, data), group in groups.items()
    )


def _fastest(group: Sequence[Measured]) -> list[Measured]:
    """As many as a figure can show, in the order in which they come."""
    least = sorted((each.samples_per_second.median for each in group), reverse=True)[:_MOST_BARS][-1]
    return [each for each in group if each.samples_per_second.median >= least]


def left_out(count: int, most: int, what: str) -> str:
    """What a caption adds where a figure cannot show everything; the tables and CSV files can."""
    return f" It shows {most:,} of {count:,} {what}." if count > most else ""


_BAR_LAYOUT = {
    "barmode": "group",
    "xaxis": {"title": {"text": "samples/s"}, "rangemode": "tozero"},
    "yaxis": {"automargin": True, "autorange": "reversed"},
}


def _bars(group: Sequence[Measured]) -> list[dict[str, Any]]:
    names = ("trainer", *varying([each.setting for each in group], ("device", *DETAILS)))
    colours = _colours_of(each.setting.precision for each in group)
    return [
        _bars_of([each for each in group if each.setting.precision == precision], names)
        | {"name": shown(precision), "marker": {"color": colour}}
        for precision, colour in colours.items()
    ]


def _bars_of(group: Sequence[Measured], names: Sequence[str]) -> dict[str, Any]:
    rates = [each.samples_per_second for each in group]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [rate.median for rate in rates],
        "y": [shown(label_of(each.setting, names)) for each in group],
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
    for each in records:
        if each.result is not None and each.result.losses and each.provenance == "measured":
            groups[each.spec.workload, each.spec.data].append(each)
    return tuple(
        Figure(
            title=f"Training loss of {workload}, {data_name(data)} data",
            caption="Loss of one step over its global batch, read outside the timed part."
            + left_out(len(group), _MOST_CURVES, "trials, the first"),
            height_pixels=420,
            plot={"data": _curves(group[:_MOST_CURVES]), "layout": _loss_layout_of(group[:_MOST_CURVES])},
        )
        for (workload, data), group in groups.items()
    )


def _loss_layout_of(group: Sequence[TrialRecord]) -> dict[str, Any]:
    losses = [loss for each in group if each.result for _, loss in each.result.losses]
    scale = {"type": "linear"} if min(losses) <= 0 else {"type": "log", "dtick": "D2"}
    return {
        "xaxis": {"title": {"text": "optimizer step"}},
        "yaxis": {"title": {"text": "training loss"}, **scale},
    }


def _curves(group: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """Colours tell precisions, as in the bars; dashes tell trainers; repeats share a legend entry."""
    settings = [setting_of(each.spec) for each in group]
    names = ("trainer", "precision", *varying(settings, ("device", *DETAILS)))
    colours = _colours_of(each.precision for each in settings)
    dashes = dict(zip(sorted({each.trainer for each in settings}), cycle(_DASHES)))
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


def _colours_of(precisions: Iterable[str]) -> dict[str, str]:
    return dict(zip(sorted(set(precisions)), cycle(COLOURS)))
