"""Samples per second over the number of workers, beside ideal scaling: a panel per device."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis.comparison.scaling import Scaling
from orchestrator.analysis.figures.palette import NEUTRAL
from orchestrator.analysis.figures.vega_lite import (
    Figure,
    Spec,
    colours,
    counts_axis,
    dashes,
    left_out,
    log_axis,
    mark_label,
    panels,
)
from orchestrator.analysis.formatting import counted, number, percent

_MOST_PANELS = 24
_HEIGHT_PIXELS = 240
_KINDS = {"strong": "strong: constant global batch", "weak": "weak: constant batch per worker"}


def scaling_figures(scalings: Sequence[Scaling]) -> Iterator[Figure]:
    """Draw one figure for all sets of numbers of workers."""
    if not scalings:
        return
    found = list(dict.fromkeys(map(_format_panel, scalings)))
    names = found[:_MOST_PANELS]
    values = [
        value for scaling in scalings if _format_panel(scaling) in names for value in _list_values(scaling)
    ]
    spec = _spec(values)

    yield Figure(
        title="Throughput over the number of workers",
        caption=(
            "Log axes; whiskers are the range over repeats. Grey: ideal scaling, in proportion to the fewest "
            "workers." + left_out(len(found), _MOST_PANELS, "sets of workers, the first")
        ),
        alternative=_describe(scalings),
        build_spec=lambda width: panels(names, spec, width=width, height=_HEIGHT_PIXELS),
    )


def _format_panel(scaling: Scaling) -> str:
    return f"{scaling.where}, batch {scaling.batch}" if scaling.where else f"batch {scaling.batch}"


def _list_values(scaling: Scaling) -> Iterator[dict[str, Any]]:
    fewest = scaling.points[0]
    for point in scaling.points:
        rate, workers = point.samples_per_second, point.setting.num_workers
        ideal = fewest.samples_per_second.median * workers / fewest.setting.num_workers
        words = f"{counted(workers, 'worker')}: {number(rate.median)} samples/s"
        yield {
            "panel": _format_panel(scaling),
            "kind": _KINDS[scaling.kind],
            "precision": point.setting.precision,
            "workers": workers,
            "rate": rate.median,
            "low": rate.low,
            "high": rate.high,
            "ideal": ideal,
            "label": mark_label(f"{words}, efficiency {percent(scaling.efficiency(point))}"),
        }


def _spec(values: Sequence[Mapping[str, Any]]) -> Spec:
    ends = [value[end] for value in values for end in ("low", "high", "ideal")]
    axes = {name: log_axis(name, "samples/s", ends) for name in ("rate", "low", "ideal")}
    precision = colours(values)
    kinds = dashes(values, field="kind")
    return {
        "data": {"values": list(values)},
        "encoding": {"x": counts_axis("workers", "workers", [value["workers"] for value in values])},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 1.5, "color": NEUTRAL.css},
                "encoding": {"y": axes["ideal"], "detail": {"field": "kind"}},
            },
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"y": axes["rate"], "color": precision, "strokeDash": kinds},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"y": axes["low"], "y2": {"field": "high"}, "color": precision},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1, "aria": True},
                "encoding": {"y": axes["rate"], "color": precision, "description": {"field": "label"}},
            },
        ],
    }


def _describe(scalings: Sequence[Scaling]) -> str:
    sentences = [
        f"{scaling.kind}, {_format_panel(scaling)}: "
        f"{percent(scaling.efficiency(scaling.points[-1]))} efficiency "
        f"at {scaling.points[-1].setting.num_workers:,} workers"
        for scaling in scalings[:_MOST_PANELS]
    ]
    return f"Lines of throughput: {'; '.join(sentences)}."
