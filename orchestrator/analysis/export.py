"""What was found as data frames and CSV, for other programs; `docs/results.md` has every column."""

import pandas as pd

from orchestrator.analysis.advice import Advice
from orchestrator.analysis.compare import Comparison
from orchestrator.analysis.findings import Findings

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
)


def comparisons_frame(findings: Findings) -> pd.DataFrame:
    """One row per comparison: those with the baseline, then the pairs that differ in one factor."""
    against = [("baseline", each) for each in findings.against.compared]
    pairs = [("pair", each) for group in findings.compared for each in group]
    rows = [_row_of(kind, each) for kind, each in (*against, *pairs)]
    return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))


def recommendations_frame(findings: Findings) -> pd.DataFrame:
    """One row per job: the setting that is recommended and what its training took, or why none is."""
    rows = [(each.job.where, *_chosen_in(each), each.reason) for each in findings.advice]
    return pd.DataFrame(rows, columns=list(RECOMMENDATION_COLUMNS))


def _chosen_in(advice: Advice) -> tuple[object, ...]:
    one, metric = advice.chosen, advice.job.aim and advice.job.aim.metric
    if one is None:
        return (None, None, None, None, metric, None)
    return (one.label, one.seconds, one.cost_usd, one.cost_marks, metric, one.quality)


def _row_of(kind: str, each: Comparison) -> tuple[object, ...]:
    has_interval = each.ratio.low < each.ratio.high
    return (
        kind,
        each.factor,
        each.where,
        each.first,
        each.second,
        each.ratio.median,
        each.ratio.low if has_interval else None,
        each.ratio.high if has_interval else None,
        each.verdict,
        each.is_noisy,
        each.is_resumed,
    )


def csv_of(frame: pd.DataFrame) -> str:
    """RFC 4180 with a header; what is missing is empty, and a text that a spreadsheet would compute is inert.

    Such a text begins with `=`, `+`, `-` or `@`; it gets an apostrophe in front.
    """
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    safe = frame.assign(**{name: frame[name].map(_inert) for name in texts})
    return safe.to_csv(index=False, lineterminator="\n")


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
