"""Pareto front: measured settings that no other setting is shown to beat in time, cost and quality. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.metrics.quality import shown_better
from orchestrator.analysis.recommendation.answer.answer import RankedSetting
from orchestrator.core.interval import Spread
from orchestrator.core.placement import Aim


def with_front(settings: Sequence[RankedSetting], aim: Aim | None) -> tuple[RankedSetting, ...]:
    """Mark the front: a setting leaves it only if another one is shown better and in nothing shown worse."""
    measured = [one for one in settings if one.provenance == "measured"]
    return tuple(
        replace(one, on_front=one in measured and not any(_beats(other, one, aim) for other in measured))
        for one in settings
    )


def _beats(one: RankedSetting, other: RankedSetting, aim: Aim | None) -> bool:
    verdicts = [_compare_low(one.seconds, other.seconds), _compare_low(one.usd, other.usd)]
    if aim is not None and one.quality is not None and other.quality is not None:
        is_better = shown_better(one.quality, other.quality, higher_is_better=aim.higher_is_better)
        is_worse = shown_better(other.quality, one.quality, higher_is_better=aim.higher_is_better)
        verdicts.append(is_better - is_worse)
    return 1 in verdicts and -1 not in verdicts


def _compare_low(one: Spread | None, other: Spread | None) -> int:
    """1: shown less, -1: shown more, 0: the intervals overlap, or one is not known."""
    if one is None or other is None:
        return 0
    return (one.high < other.low) - (other.high < one.low)
