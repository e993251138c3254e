"""A table as data: title, note, columns, rows."""

from dataclasses import dataclass, replace
from enum import IntEnum


class Rank(IntEnum):
    """Importance of a column for a reader; where room is short, columns of the last rank leave first."""

    SETTING = 0
    RATE = 1
    COST = 2
    QUALITY = 3
    REPEATS = 4
    OTHER = 5
    DETAIL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A header with its unit; numbers are aligned to the right.

    Attributes:
        is_detail: the page shows it on demand, and it leaves a narrow terminal with the last rank.
        is_command: a terminal lists its cells below the table, where they are copied whole.
        is_bracketed: brackets of its cells follow from another column, and leave a narrow terminal first.
    """

    header: str
    is_number: bool = False
    is_detail: bool = False
    is_command: bool = False
    is_bracketed: bool = False
    rank: Rank = Rank.OTHER


def list_columns(*headers: str, is_number: bool = False, rank: Rank = Rank.OTHER) -> tuple[Column, ...]:
    """List columns of texts, or of numbers, that differ in nothing but their headers."""
    return tuple(Column(header=header, is_number=is_number, rank=rank) for header in headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, a sentence on how to read it, and the cells as they are shown.

    Attributes:
        has_total: the last row is of all others together, and stays where it is.
    """

    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    has_total: bool = False


_FILES = "results.csv has every trial, comparisons.csv every comparison, and plan.json every prediction"


def cut(table: Table, *, most_rows: int, others: str = _FILES) -> Table:
    """Cut the table to its first rows and its total; the note names the place of the others."""
    num_rows = len(table.rows) - table.has_total
    if num_rows <= most_rows:
        return table
    note = f"Shown are the first {most_rows:,} of {num_rows:,} rows; {others}."
    rows = (*table.rows[:most_rows], *table.rows[num_rows:])
    return replace(table, rows=rows, note=" ".join(filter(None, (table.note, note))))
