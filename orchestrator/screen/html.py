"""A table as HTML for a notebook, which brings its own style; every text is escaped. Pure."""

from collections.abc import Iterable
from html import escape

from orchestrator.analysis.tables import Table


def html_of(table: Table) -> str:
    """Title, rows and the sentence on how to read them."""
    aligned = ["right" if column.is_number else "left" for column in table.columns]
    head = _row("th", [column.header for column in table.columns], aligned)
    rows = "".join(_row("td", row, aligned) for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>{note}"


def _row(tag: str, cells: Iterable[str], aligned: Iterable[str]) -> str:
    drawn = (
        f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, aligned, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"
