"""Export of findings as data frames and CSV; `docs/reference/results.md` describes every column."""

from collections.abc import Iterable

import pandas as pd

from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.recommendation.answer.answer import Recommendation

COMPARISON_COLUMNS = (
    "kind",
    "factor",
    "where",
    "first",
    "second",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
    "noisy",
    "resumed",
)
RECOMMENDATION_COLUMNS = (
    "where",
    "setting",
    "seconds",
    "cost_usd",
    "cost_marks",
    "quality_metric",
    "quality",
    "reason",
    "state",
    "provenance",
    "chance",
    "basis",
    "next_command",
)


def comparisons_frame(findings: Findings) -> pd.DataFrame:
    """One row per comparison: those with the baseline, then the pairs that differ in one factor."""
    against = [("baseline", comparison) for comparison in findings.against.compared]
    pairs = [("pair", comparison) for group in findings.compared for comparison in group]
    rows = [_build_row(kind, comparison) for kind, comparison in (*against, *pairs)]
    return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))


def recommendations_frame(recommendations: Iterable[Recommendation]) -> pd.DataFrame:
    """One row per workload and data: state of the answer, leading setting, what the job takes with it."""
    rows = [_recommended(recommendation) for recommendation in recommendations]
    return pd.DataFrame(rows, columns=list(RECOMMENDATION_COLUMNS))


def _recommended(recommendation: Recommendation) -> tuple[object, ...]:
    winner, step = recommendation.winner, recommendation.next_step
    metric = recommendation.aim.metric if recommendation.aim else None
    return (
        recommendation.job,
        winner.setting if winner else None,
        winner.seconds.median if winner else None,
        winner.usd.median if winner and winner.usd else None,
        winner.price_marks if winner else None,
        metric,
        winner.quality.estimate if winner and winner.quality else None,
        "; ".join(recommendation.reasons),
        recommendation.state,
        winner.provenance if winner else None,
        winner.chance if winner else None,
        recommendation.basis,
        step.command if step else None,
    )


def _build_row(kind: str, comparison: Comparison) -> tuple[object, ...]:
    has_interval = comparison.ratio.low < comparison.ratio.high
    return (
        kind,
        comparison.factor,
        comparison.where,
        comparison.first,
        comparison.second,
        comparison.ratio.median,
        comparison.ratio.low if has_interval else None,
        comparison.ratio.high if has_interval else None,
        comparison.verdict,
        comparison.is_noisy,
        comparison.is_resumed,
    )


def format_csv(frame: pd.DataFrame) -> str:
    """RFC 4180 with a header; what is missing is empty, and a text that a spreadsheet would compute is inert.

    Such a text begins with `=`, `+`, `-` or `@`; it gets an apostrophe in front.
    """
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    safe = frame.assign(**{name: frame[name].map(_inert) for name in texts})
    return safe.to_csv(index=False, lineterminator="\n")


def storable(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with floats in a column of whole numbers that needs more than 64 bits, as of old records."""
    large = [
        name
        for name in frame.columns
        if frame[name].dtype == object and pd.api.types.infer_dtype(frame[name]) == "integer"
    ]
    return frame.astype(dict.fromkeys(large, float))


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
