"""Escaped HTML out of plain values: the only place of the page where text becomes markup."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from orchestrator.analysis.formatting import UNKNOWN, FileLink, Number
from orchestrator.analysis.table import Column, Table

_BESIDE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_SHAPES = ("circle", "line", "path")  # of SVG, which HTML lets end by themselves
_MOST_COLUMNS = 7
"""Columns of a table that are shown at first; the others are shown on demand."""


def element(name: str, *children: str, **attributes: str) -> str:
    """Make one element. Children are markup, so text goes through `text` first; attributes are escaped here.

    An underscore of an attribute's name is a dash, and the last one nothing: `data_header`, `class_`.
    """
    worded = (f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    if not children and name in _SHAPES:
        return f"<{name}{''.join(worded)}/>"
    return f"<{name}{''.join(worded)}>{''.join(children)}</{name}>"


def sorted_by(value: float) -> str:
    """Write a number that a column is sorted by, without the digits that only rounding made."""
    return f"{value:.13g}"


def text(words: str) -> str:
    """Return words that may hold anything as markup that shows them."""
    return escape(words)


def table_markup(table: Table, *, named_by: str) -> str:
    """Make a table in a box that scrolls; its headers are variables, for screens too narrow for columns.

    Args:
        named_by: id of the heading that is the table's name.
    """
    kept = len(table.rows) - table.has_total
    is_shown = _shown_columns(table.columns)
    head = element("tr", *map(_header, table.columns, is_shown))
    parts = [element("thead", head), "\n", element("tbody", *_rows(table, table.rows[:kept], is_shown))]
    parts += [element("tfoot", *_rows(table, table.rows[kept:], is_shown))] if table.has_total else []
    headers = header_variables(column.header for column in table.columns)
    body = element("table", *parts, aria_labelledby=named_by, style=headers)
    box = element("div", body, class_="scroll", role="region", tabindex="0", aria_labelledby=named_by)
    return box if all(is_shown) else f"{all_columns()}{box}"


def all_columns() -> str:
    """Make the box to tick that shows the detail columns of the table after it."""
    return element("label", '<input type="checkbox">', " all columns", class_="columns")


def header_variables(headers: Iterable[str]) -> str:
    """Declare the headers of a table's columns as variables of its style: `--h1:"device";`."""
    quoted = (json.dumps(header, ensure_ascii=False) for header in headers)
    return "".join(f"--h{at}:{header};" for at, header in enumerate(quoted, start=1))


def narrow_headers(most: int) -> str:
    """Write the style that names each cell by its header where columns stand below each other.

    Args:
        most: number of columns of the widest table.
    """
    rules = (
        f"table:not(.heat) td:nth-child({at})::before {{ content: var(--h{at}); }}"
        for at in range(1, most + 1)
    )
    return f"@media screen and (max-width: 44rem) {{ {' '.join(rules)} }}\n"


def _shown_columns(columns: Sequence[Column]) -> list[bool]:
    """Describe which columns are shown at first: those that are no details, as many as there is room for."""
    shown, left = [], _MOST_COLUMNS
    for column in columns:
        is_shown = left > 0 and not column.is_detail
        shown.append(is_shown)
        left -= is_shown
    return shown


def _header(column: Column, is_shown: bool) -> str:
    name = element("span", text(column.header), class_="name")
    return element("th", name, scope="col", **_classes(column, is_shown=is_shown))


def _rows(table: Table, rows: Sequence[Sequence[str]], is_shown: Sequence[bool]) -> list[str]:
    return [element("tr", *map(_cell, row, table.columns, is_shown)) + "\n" for row in rows]


def _cell(words: str, column: Column, is_shown: bool) -> str:
    """Make a cell with what it is sorted by: its value, or where it has none its words."""
    is_absent = words in ("", UNKNOWN)
    attributes = _classes(column, is_shown=is_shown, is_absent=is_absent)
    if isinstance(words, Number) and math.isfinite(words.value):
        attributes["data_value"] = sorted_by(words.value)
    # a file beside the page is linked; a path that leads elsewhere stays text
    is_beside = isinstance(words, FileLink) and _BESIDE.fullmatch(words) and ".." not in words
    content = element("a", text(words), href=words) if is_beside else text(words)
    return element("td", content, **attributes)


def _classes(column: Column, *, is_shown: bool, is_absent: bool = False) -> dict[str, str]:
    flags = {"number": column.is_number, "absent": is_absent, "detail": not is_shown}
    names = [name for name, is_set in flags.items() if is_set]
    return {"class_": " ".join(names)} if names else {}
