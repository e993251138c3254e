"""Escaped HTML out of plain values: the only place of the page where text becomes markup."""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from orchestrator.analysis.formatting import UNKNOWN, Number
from orchestrator.analysis.table import Column, Table

_LONG = 20
"""Rows from which on a table has a box that scrolls up and down too."""


def element(name: str, *children: str, **attributes: str) -> str:
    """One element. Children are markup, so text goes through `text` first; attributes are escaped here.

    An underscore of an attribute's name is a dash, and the last one nothing: `data_header`, `class_`.
    """
    worded = (f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{''.join(worded)}>{''.join(children)}</{name}>"


def text(words: str) -> str:
    """Words that may hold anything, as markup that shows them."""
    return escape(words)


def data_block(block_id: str, value: Mapping[str, Any]) -> str:
    """JSON that a script reads; nothing in it can end the block."""
    content = json.dumps(value, allow_nan=False, sort_keys=True)
    inert = content.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return element("script", inert, type="application/json", id=block_id)


def table_markup(table: Table, *, named_by: str) -> str:
    """A table in a box that scrolls; cells carry their header, for screens too narrow for columns.

    Args:
        named_by: id of the heading that is the table's name.
    """
    kept = len(table.rows) - table.has_total
    head = element("tr", *(_header(column) for column in table.columns))
    parts = [element("thead", head), "\n", element("tbody", *_rows(table, table.rows[:kept]))]
    parts += [element("tfoot", *_rows(table, table.rows[kept:]))] if table.has_total else []
    body = element("table", *parts, aria_labelledby=named_by)
    box = "scroll long" if kept > _LONG else "scroll"
    return element("div", body, class_=box, role="region", tabindex="0", aria_labelledby=named_by)


def _header(column: Column) -> str:
    attributes = {"class_": "number"} if column.is_number else {}
    return element("th", text(column.header), scope="col", **attributes)


def _rows(table: Table, rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        element("tr", *(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))) + "\n"
        for row in rows
    ]


def _cell(words: str, column: Column) -> str:
    """A cell with what it is sorted by: its value, or where it has none its words."""
    attributes = {"data_header": column.header}
    classes = [*(["number"] if column.is_number else []), *(["absent"] if words in ("", UNKNOWN) else [])]
    if classes:
        attributes["class_"] = " ".join(classes)
    if isinstance(words, Number) and math.isfinite(words.value):
        attributes["data_value"] = repr(float(words.value))
    return element("td", text(words), **attributes)
