"""Findings as data frames, CSV and Markdown; `docs/reference/results.md` describes every column."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

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


COMPARISON_COLUMNS: Mapping[str, Callable[[Comparison], object]] = {
    "factor": lambda one: one.factor,
    "where": lambda one: one.where,
    "first": lambda one: one.first,
    "second": lambda one: one.second,
    "ratio": lambda one: one.ratio.median,
    "ratio_low": lambda one: one.ratio.low if one.ratio.low < one.ratio.high else None,
    "ratio_high": lambda one: one.ratio.high if one.ratio.low < one.ratio.high else None,
    "verdict": lambda one: one.verdict,
    "noisy": lambda one: one.is_noisy,
    "resumed": lambda one: one.is_resumed,
}
"""Column -> its value; the first column is the kind of a comparison."""

RECOMMENDATION_COLUMNS: Mapping[str, Callable[[Recommendation], object]] = {
    "where": lambda one: one.job,
    "setting": lambda one: one.winner and one.winner.setting,
    "seconds": lambda one: one.winner and one.winner.seconds.median,
    "cost_usd": lambda one: one.winner and one.winner.usd and one.winner.usd.median,
    "cost_marks": lambda one: one.winner and one.winner.price_marks,
    "quality_metric": lambda one: one.aim and one.aim.metric,
    "quality": lambda one: one.winner and one.winner.quality and one.winner.quality.estimate,
    "reason": lambda one: "; ".join(one.reasons),
    "state": lambda one: one.state,
    "provenance": lambda one: one.winner and one.winner.provenance,
    "chance": lambda one: one.winner and one.winner.chance,
    "basis": lambda one: one.basis,
    "next_command": lambda one: one.next_step and one.next_step.command,
}
"""Column -> its value."""


def comparisons_frame(findings: Findings) -> pd.DataFrame:
    """One row per comparison: those with the baseline, then the pairs that differ in one factor."""
    against = [("baseline", comparison) for comparison in findings.against.compared]
    pairs = [("pair", comparison) for group in findings.compared for comparison in group]
    rows = [
        (kind, *(read(comparison) for read in COMPARISON_COLUMNS.values()))
        for kind, comparison in (*against, *pairs)
    ]
    return pd.DataFrame(rows, columns=["kind", *COMPARISON_COLUMNS])


def recommendations_frame(recommendations: Iterable[Recommendation]) -> pd.DataFrame:
    """One row per workload and data: state of the answer, leading setting, what the job takes with it."""
    rows = [[read(one) for read in RECOMMENDATION_COLUMNS.values()] for one in recommendations]
    return pd.DataFrame(rows, columns=list(RECOMMENDATION_COLUMNS))


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
