"""Escaped HTML out of plain values: the only place of the page where text becomes markup."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from orchestrator.analysis.tables import Column, Table


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


def table_markup(table: Table) -> str:
    """A table whose cells carry their header, for screens too narrow for columns."""
    head = element("tr", *(_cell("th", each.header, each) for each in table.columns))
    rows = (
        element("tr", *(_cell("td", cell, column) for cell, column in zip(row, table.columns, strict=True)))
        for row in table.rows
    )
    body = element("table", element("thead", head), "\n", element("tbody", *(f"{row}\n" for row in rows)))
    return element("div", body, class_="scroll")


def _cell(name: str, words: str, column: Column) -> str:
    attributes = {"class_": "number"} if column.is_number else {}
    if name == "td":
        attributes["data_header"] = column.header
    return element(name, text(words), **attributes)
