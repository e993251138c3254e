"""Findings as data frames, CSV and Markdown; `docs/reference/results.md` describes every column."""

import re
from collections.abc import Iterable, Iterator

import pandas as pd

from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.report.headline import build_headline
from orchestrator.analysis.table import Table, cut

_MOST_ROWS = 30
_MARKUP = re.compile(r"([\\`*_\[\]#|<>~&@])")


def format_markdown(sweep: str, findings: Findings) -> str:
    """Write one section per table; a long one is cut, with a note."""
    blocks = [f"## {_escaped(sweep)}", "\n".join(map(_point, build_headline(findings)))]
    for table in findings.tables:
        blocks += _section(cut(table, most_rows=_MOST_ROWS))
    return "\n\n".join(blocks) + "\n"


def _point(sentence: str) -> str:
    """Write a point of a list, with its command as code, to be pasted, unless that could become markup."""
    text, run, command = sentence.partition(" Run: ")
    shown = _escaped(command) if {"<", "`", "\n"} & {*command} else f"`{command}`"
    return f"- {_escaped(text)}{run}{shown}" if run else f"- {_escaped(text)}"


def _section(table: Table) -> Iterator[str]:
    yield f"### {_escaped(table.title)}"
    if table.note:
        yield _escaped(table.note)
    yield "\n".join(
        (
            _row([column.header for column in table.columns]),
            "|".join(["", *("--:" if column.is_number else "---" for column in table.columns), ""]),
            *map(_row, table.rows),
        )
    )


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(words: str) -> str:
    """Text that Markdown and the HTML in it show as it is, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(words.split()))


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
