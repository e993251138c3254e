"""Figures over the batch size and over the number of workers."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.analysis.comparison.scaling import Scaling
from orchestrator.analysis.comparison.step_cost import StepTimeFit
from orchestrator.analysis.figures.plots import COLOURS, Figure, left_out, shown
from orchestrator.analysis.formatting import number, percent
from orchestrator.analysis.measurements.measured import Measurement

_HEIGHT_PIXELS = 420
_STYLES = tuple({"color": colour, "symbol": symbol} for symbol in ("circle", "diamond") for colour in COLOURS)
"""Markers of lines, no two alike; dashes tell something else."""

_MOST_LINES = len(_STYLES)


def step_cost_figures(costs: Sequence[StepTimeFit]) -> tuple[Figure, ...]:
    """Milliseconds of a step over the batch, with the fitted line: one figure for all."""
    if not costs:
        return ()
    traces = [
        trace
        for cost, style in zip(costs, _STYLES, strict=False)
        for trace in (_measured_steps(cost, style), *_fitted_line(cost, style["color"]))
    ]
    return (
        Figure(
            title="Step time over the batch size",
            caption="Medians as marks; the lines are the fits of the table of step costs."
            + left_out(len(costs), _MOST_LINES, "sets of batches, the first"),
            alternative=_describe_steps(costs[:_MOST_LINES]),
            height_pixels=_HEIGHT_PIXELS,
            plot={
                "data": traces,
                "layout": {
                    "xaxis": {"title": {"text": "global batch"}, "rangemode": "tozero"},
                    "yaxis": {"title": {"text": "step ms"}, "rangemode": "tozero"},
                },
            },
        ),
    )


def _describe_steps(costs: Sequence[StepTimeFit]) -> str:
    sentences = [
        f"{cost.where} from {_describe_step(cost.points[0])} to {_describe_step(cost.points[-1])}"
        for cost in costs
    ]
    return f"Lines of step times: {'; '.join(sentences)}."


def _describe_step(point: Measurement) -> str:
    milliseconds = number(point.step_seconds.median * 1000)
    return f"{milliseconds} ms at batch {point.setting.global_batch_size:,}"


def _measured_steps(cost: StepTimeFit, style: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": shown(cost.where),
        "legendgroup": shown(cost.where),
        "marker": {**style, "size": 8},
        "x": list(cost.batches),
        "y": [point.step_seconds.median * 1000 for point in cost.points],
        "hovertemplate": "batch %{x}: %{y:,.4~r} ms<extra>%{fullData.name}</extra>",
    }


def _fitted_line(cost: StepTimeFit, colour: str) -> list[dict[str, Any]]:
    if cost.line is None:
        return []
    ends = (0, cost.batches[-1])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{shown(cost.where)}, fit",
            "legendgroup": shown(cost.where),
            "showlegend": False,
            "line": {"color": colour, "width": 2},
            "x": list(ends),
            "y": [cost.line.seconds(end) * 1000 for end in ends],
            "hoverinfo": "skip",
        }
    ]


def scaling_figures(scalings: Sequence[Scaling]) -> tuple[Figure, ...]:
    """Efficiency over the number of workers: one figure for all."""
    if not scalings:
        return ()
    return (
        Figure(
            title="Efficiency over the number of workers",
            caption="1 is a speed-up in proportion to the workers; whiskers are 95% intervals over repeats."
            + left_out(len(scalings), _MOST_LINES, "sets of workers, the first"),
            alternative=_describe_efficiencies(scalings[:_MOST_LINES]),
            height_pixels=_HEIGHT_PIXELS,
            plot={
                "data": [
                    _efficiencies(group, style) for group, style in zip(scalings, _STYLES, strict=False)
                ],
                "layout": {
                    "xaxis": {"title": {"text": "workers"}, "dtick": 1},
                    "yaxis": {"title": {"text": "efficiency"}, "rangemode": "tozero"},
                },
            },
        ),
    )


def _describe_efficiencies(scalings: Sequence[Scaling]) -> str:
    sentences = [
        f"{scaling.kind}, {scaling.where}, batch {scaling.batch}: "
        f"{percent(scaling.efficiency(scaling.points[-1]))} at "
        f"{scaling.points[-1].setting.num_workers:,} workers"
        for scaling in scalings
    ]
    return f"Lines of efficiency: {'; '.join(sentences)}."


def _efficiencies(scaling: Scaling, style: Mapping[str, str]) -> dict[str, Any]:
    spreads = [scaling.efficiency(point) for point in scaling.points]
    fewest, *others = spreads
    ends = [(fewest.median, fewest.median), *((other.low, other.high) for other in others)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": shown(f"{scaling.kind}, {scaling.where}, batch {scaling.batch}"),
        "marker": {**style, "size": 8},
        "line": {
            "color": style["color"],
            "width": 2,
            "dash": "solid" if scaling.kind == "strong" else "dash",
        },
        "x": [point.setting.num_workers for point in scaling.points],
        "y": [spread.median for spread in spreads],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [high - value.median for value, (_, high) in zip(spreads, ends, strict=True)],
            "arrayminus": [value.median - low for value, (low, _) in zip(spreads, ends, strict=True)],
        },
        "hovertemplate": "%{x} workers: %{y:.0%}<extra>%{fullData.name}</extra>",
    }
