"""Time, cost and quality of the job as figures: measured settings with whiskers, predicted ones hollow."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.analysis.figures.plots import COLOURS, NEUTRAL, Figure, shortened, shown
from orchestrator.analysis.formatting import counted, number
from orchestrator.analysis.metrics.quality import QualityInterval
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.summary import chance, duration
from orchestrator.core.interval import Spread

_MOST_SETTINGS = 40
_ROW_PIXELS = 30


def recommendation_figures(recommendations: Sequence[Recommendation]) -> tuple[Figure, ...]:
    """Draw the time of every job that leaves a choice; cost and quality are panels of their own."""
    return tuple(
        figure
        for recommendation in recommendations
        if len(recommendation.standings) > 1
        for figure in _figures_of(recommendation)
    )


def _figures_of(recommendation: Recommendation) -> Iterator[Figure]:
    standings = recommendation.standings[:_MOST_SETTINGS]
    yield _panel(
        recommendation,
        [(one, one.seconds) for one in standings],
        title=f"Time of {recommendation.job}",
        axis="seconds of the job",
        is_log=True,
    )
    priced = [(one, one.usd) for one in standings if one.usd is not None]
    if priced:
        yield _panel(
            recommendation,
            priced,
            title=f"Cost of {recommendation.job}",
            axis="dollars of the job",
            is_log=True,
        )
    judged = [(one, _bounded(one.quality)) for one in standings if one.quality is not None]
    if len(judged) > 1 and recommendation.aim:
        yield _panel(
            recommendation,
            judged,
            title=f"Quality of {recommendation.job}",
            axis=recommendation.aim.metric,
            is_log=False,
        )


def _bounded(quality: QualityInterval) -> Spread:
    """Drop ends that nothing bounds."""
    if not math.isfinite(quality.high - quality.low):
        return Spread(median=quality.estimate, low=quality.estimate, high=quality.estimate)
    return Spread(median=quality.estimate, low=quality.low, high=quality.high)


def _panel(
    recommendation: Recommendation,
    values: Sequence[tuple[RankedSetting, Spread]],
    *,
    title: str,
    axis: str,
    is_log: bool,
) -> Figure:
    left = len(recommendation.standings) - _MOST_SETTINGS
    more = f" {left:,} settings with lower chances are left out." if left > 0 else ""
    return Figure(
        title=title,
        caption=(
            f"For {recommendation.basis}. Filled: measured, with the 95% interval of the mean. "
            f"{_hollow(values)}, with the interval that is to hold 90 of 100 measurements.{more}"
        ),
        alternative=_describe_values(values, axis),
        height_pixels=130 + _ROW_PIXELS * len(values),
        plot={
            "data": [
                _marks(values, "measured", COLOURS[0], "circle"),
                *([_marks(values, "compiled", COLOURS[1], "diamond-open")] if _has_compiled(values) else []),
                _marks(values, "predicted", NEUTRAL, "circle-open"),
            ],
            "layout": {
                "xaxis": {"title": {"text": shown(axis)}, "type": "log" if is_log else "linear"},
                "yaxis": {"autorange": "reversed", "type": "category"},
            },
        },
    )


def _has_compiled(values: Sequence[tuple[RankedSetting, Spread]]) -> bool:
    return any(one.provenance == "compiled" for one, _ in values)


def _hollow(values: Sequence[tuple[RankedSetting, Spread]]) -> str:
    """Explain the hollow marks."""
    if _has_compiled(values):
        return "Hollow diamonds: compiled, by the device's own compiler, and hollow circles: predicted, both"
    return "Hollow: predicted"


def _describe_values(values: Sequence[tuple[RankedSetting, Spread]], axis: str) -> str:
    (first, spread), *_ = values
    return (
        f"Marks of {counted(len(values), 'setting')}, the likeliest first: {first.setting} with "
        f"{number(spread.median)} {axis}."
    )


def _marks(
    values: Sequence[tuple[RankedSetting, Spread]], provenance: str, colour: str, symbol: str
) -> dict[str, Any]:
    names = shortened([one.setting for one, _ in values])
    rows = [
        (name, one, spread)
        for name, (one, spread) in zip(names, values, strict=True)
        if one.provenance == provenance
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": provenance,
        "y": [shown(name) for name, _, _ in rows],
        "x": [spread.median for _, _, spread in rows],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, spread.high - spread.median) for _, _, spread in rows],
            "arrayminus": [max(0.0, spread.median - spread.low) for _, _, spread in rows],
        },
        "text": [
            shown(f"{one.setting}: {duration(one.seconds)}, chance {chance(one.chance)}")
            for _, one, _ in rows
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "symbol": symbol, "size": 10},
    }
