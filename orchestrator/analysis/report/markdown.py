"""A report as Markdown for a pull request: headline and tables, nothing of a record as markup."""

import re
from collections.abc import Iterator

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.report.headline import build_headline
from orchestrator.analysis.table import Table, cut

_MOST_ROWS = 30
_MARKUP = re.compile(r"([\\`*_\[\]#|<>~&@])")


def format_markdown(sweep: str, findings: Findings) -> str:
    """Write one section per table; a long one is cut, with a note."""
    blocks = [f"## {_escaped(sweep)}", "\n".join(f"- {_escaped(name)}" for name in build_headline(findings))]
    for table in findings.tables:
        blocks += _section(cut(table, most_rows=_MOST_ROWS))
    return "\n\n".join(blocks) + "\n"


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
