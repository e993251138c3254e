"""Words of a command line, and tables and sentences as HTML, for functions of notebooks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from orchestrator.analysis.report.html import element, text
from orchestrator.analysis.table import Table
from orchestrator.commands.arguments import parsed_arguments
from orchestrator.core.errors import ConfigError

MOST_ROWS = 100
"""Rows that are shown of one table; data frames have all."""


class Sentences(tuple[str, ...]):
    """Sentences, shown one a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(self)


@contextmanager
def parse_words(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words for Hydra. Raises ConfigError: one of them is a command or a flag."""
    with parsed_arguments(words) as overrides:
        for word in overrides:
            if "=" not in word and not word.startswith("~"):
                raise ConfigError(f"{word!r} is not KEY=VALUE; commands and flags are for the command line")
        yield overrides


def format_html(table: Table) -> str:
    """Title, rows and the sentence on how to read them."""
    sides = ["right" if column.is_number else "left" for column in table.columns]

    def build_row(tag: str, cells: Iterable[str]) -> str:
        aligned = zip(cells, sides, strict=True)
        return element(
            "tr", *(element(tag, text(cell), style=f"text-align: {side}") for cell, side in aligned)
        )

    head = element("thead", build_row("th", [column.header for column in table.columns]))
    body = element("tbody", *(build_row("td", row) for row in table.rows))
    note = element("p", text(table.note)) if table.note else ""
    return element("table", element("caption", text(table.title)), head, body) + note


def format_paragraphs(sentences: Iterable[str]) -> str:
    """Write each sentence as a paragraph of HTML."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
