"""A recommendation as plain tables, and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.analysis.formatting import (
    UNKNOWN,
    Number,
    digits_for,
    duration,
    exact_percent,
    format_duration,
    share,
    spread,
)
from orchestrator.analysis.measurements.measured import RESUMED
from orchestrator.analysis.measurements.noise import NOISY, OUTLIER
from orchestrator.analysis.metrics.quality import quality_words
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.summary import chance, describe_setup, format_marks, known_by
from orchestrator.analysis.table import Column, Rank, Table, list_columns
from orchestrator.analysis.tables.price_age import describe_age_together
from orchestrator.core import codec
from orchestrator.core.interval import Spread, exactly

RANKED = "Settings of the job"
"""Title of the table of ranked settings."""

NEXT = "Measure next"
"""Title of the table of trials to measure."""

_MOST_ROWS = 20  # of predicted settings of one job: the others are hardly ever the best
_RANKED = (
    "Time and cost are those of the whole job. {setup} "
    "Brackets: 95% interval of the mean where measured, else a 90% interval. "
    "Chance: to keep to the limits and lie within {tolerance} of the best, measured or not. "
    "On the front: no other measured setting is better in time, cost or quality and no worse in the others."
)
_NEXT_NOTE = (
    "Measure in this order, and ask again after every trial. Time and cost are predicted, for one trial. "
    "Gain: how far it should raise the highest chance. Then: confidence after this run, if it comes as "
    "predicted."
)
_LIMITED = "Time and dollars are at most: a target may end a training early."


def ranked_table(recommendations: Sequence[Recommendation]) -> Table:
    """Make a row per judged setting of each job that leaves a choice."""
    shown = [one for one in recommendations if len(one.standings) > 1]
    has_cost = any(standing.usd for one in shown for standing in one.standings)
    has_quality = any(standing.quality for one in shown for standing in one.standings)
    bases = "; ".join(dict.fromkeys(f"{one.job}: {one.basis}" for one in shown))
    noisy = any(standing.num_noisy for one in shown for standing in one.standings)
    outliers = any(standing.num_outliers for one in shown for standing in one.standings)
    resumed = any(standing.num_resumed for one in shown for standing in one.standings)
    age = describe_age_together(standing.price for one in shown for standing in one.standings)
    return Table(
        title=RANKED,
        note=" ".join(
            [
                f"Length of the job: {bases}.",
                _RANKED.format(
                    tolerance=exact_percent(shown[0].tolerance) if shown else "", setup=describe_setup(shown)
                ),
                *([f"Noisy: {NOISY}."] if noisy else []),
                *([f"Outlier: {OUTLIER}."] if outliers else []),
                *([f"Resumed: {RESUMED}."] if resumed else []),
                *([age] if age else []),
            ]
        ),
        columns=(
            Column(header="job"),
            Column(header="setting", rank=Rank.SETTING),
            Column(header="known by", rank=Rank.REPEATS),
            Column(header="time", is_number=True, rank=Rank.RATE),
            *([Column(header="cost $", is_number=True, rank=Rank.COST)] if has_cost else []),
            *([Column(header="quality", is_number=True, rank=Rank.QUALITY)] if has_quality else []),
            Column(header="chance", is_number=True, rank=Rank.RATE),
            Column(header="remarks"),
        ),
        rows=tuple(
            (
                one.job,
                standing.setting,
                known_by(standing),
                duration(standing.seconds, digits=digits_for(standing.seconds)),
                *([dollars(standing.usd, standing.price_marks)] if has_cost else []),
                *([_quality(standing, one)] if has_quality else []),
                chance(standing.chance),
                ", ".join(_remarks(standing, one)),
            )
            for one in shown
            for standing in _listed_settings(one)
        ),
    )


def _listed_settings(recommendation: Recommendation) -> list[RankedSetting]:
    measured = [one for one in recommendation.standings if one.provenance == "measured"]
    predicted = [one for one in recommendation.standings if one.provenance != "measured"]
    kept = {one.setting for one in (*measured, *predicted[:_MOST_ROWS])}
    return [one for one in recommendation.standings if one.setting in kept]


def _remarks(standing: RankedSetting, recommendation: Recommendation) -> Iterator[str]:
    if standing.setting == recommendation.chosen and recommendation.state in ("settled", "tie"):
        yield "recommended"
    elif standing == recommendation.best_measured:
        yield "best measured"
    if standing.setting in recommendation.tied:
        yield "tie"
    if standing.on_front:
        yield "on the front"


def _quality(standing: RankedSetting, recommendation: Recommendation) -> str:
    if standing.quality is None or recommendation.aim is None:
        return UNKNOWN
    return Number(f"{recommendation.aim.metric} {quality_words(standing.quality)}", standing.quality.estimate)


def next_table(recommendations: Sequence[Recommendation]) -> Table:
    """Make a row per trial to measure."""
    return Table(
        title=NEXT,
        note=f"{_NEXT_NOTE} {_LIMITED}" if any(one.is_limit for one in recommendations) else _NEXT_NOTE,
        columns=(
            *list_columns("job", "setting", rank=Rank.SETTING),
            *list_columns("time", "$", "chance", "gain", "then", is_number=True),
            Column(header="command", is_detail=True, is_command=True),
        ),
        rows=tuple(
            (
                one.job,
                trial.setting,
                format_duration(trial.hours, digits=2),
                dollars(None if trial.usd is None else exactly(trial.usd), trial.price_marks),
                chance(trial.chance),
                f"+{share(trial.gain, decimals=1)}",
                chance(trial.chance_then),
                trial.command,
            )
            for one in recommendations
            for trial in one.errands
        ),
    )


def left_out_table(recommendations: Sequence[Recommendation]) -> Table:
    """Make a row per setting that is not judged."""
    return Table(
        title="Not judged",
        note="The answer stays open while such a setting may be the best.",
        columns=list_columns("job", "setting", "why", "measure", "may be the best"),
        rows=tuple(
            (one.job, left.setting, left.reason, left.to_measure, "yes" if left.may_be_best else "no")
            for one in recommendations
            for left in one.left_out
        ),
    )


def build_tables(recommendations: Sequence[Recommendation]) -> tuple[Table, ...]:
    """Rank the settings, list what to measure and what is not judged; none of the tables is empty."""
    tables = (ranked_table(recommendations), next_table(recommendations), left_out_table(recommendations))
    return tuple(table for table in tables if table.rows)


def convert_to_plain(recommendation: Recommendation) -> dict[str, Any]:
    """Give a recommendation to programs; what no number bounds is null."""
    plain = codec.to_nulls(recommendation)
    for standing, own in zip(plain["standings"], recommendation.standings, strict=True):
        standing["samples_per_second"] = codec.to_nulls(own.samples_per_second)
        standing["usd_per_million_samples"] = usd.median if (usd := own.usd_per_million_samples) else None
    winner = recommendation.winner.setting if recommendation.winner else None
    return {**plain, "winner": winner, "is_clear": recommendation.is_clear}


def dollars(value: Spread | None, marks: str) -> str:
    """`0.0123 [0.0120, 0.0126] old`."""
    if value is None:
        return UNKNOWN
    words = spread(value, digits=digits_for(value) if value.low < value.high else 2)
    return Number(f"{words} {format_marks(marks)}".rstrip(), value.median)
