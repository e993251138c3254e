"""A table that fits a terminal: prose is folded, a number never, and what has no room is left out. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.analysis.tables import Table

GAP = 2  # blanks between two columns
_LONGEST_WORD = 24  # a longer word of prose is broken, and where there is no room for that one of
_LEAST_PROSE = 12


def fitted(table: Table, *, width: int) -> Table:
    """The table in `width` characters; its note names the columns of numbers that had no room.

    Where it is too wide, intervals go below what they belong to; where that is not enough, the last columns
    of numbers go.
    """
    if _least_width(table) <= width:
        return table
    slim = _with_intervals_below(table)
    left_out: list[str] = []
    while _least_width(slim) > width and any(column.is_number for column in slim.columns):
        last = max(index for index, column in enumerate(slim.columns) if column.is_number)
        left_out.insert(0, table.columns[last].header)
        slim = _without(slim, last)
    if not left_out:
        return slim
    note = f"{slim.note} Left out of this narrow terminal: {', '.join(left_out)}."
    return replace(slim, note=note.strip())


def widths_of(table: Table, *, width: int) -> tuple[int, ...]:
    """Characters of each column: numbers have what they need, and prose shares what they leave."""
    whole = [max(map(_length, texts)) for _, texts in _columns(table)]
    longest = _LONGEST_WORD if _least_width(table, longest_word=_LONGEST_WORD) <= width else _LEAST_PROSE
    widths = _least_widths(table, longest_word=longest)
    room = width - sum(widths) - GAP * (len(widths) - 1)
    by_want = sorted(range(len(widths)), key=lambda index: whole[index] - widths[index])
    for others, index in zip(reversed(range(len(widths))), by_want, strict=True):
        more = max(0, min(whole[index] - widths[index], room // (others + 1)))
        widths[index] += more
        room -= more
    return tuple(widths)


def _least_width(table: Table, *, longest_word: int = _LEAST_PROSE) -> int:
    widths = _least_widths(table, longest_word=longest_word)
    return sum(widths) + GAP * (len(widths) - 1)


def _least_widths(table: Table, *, longest_word: int) -> list[int]:
    return [
        max(map(_length, texts)) if is_number else min(max(map(_longest_word, texts)), longest_word)
        for is_number, texts in _columns(table)
    ]


def _columns(table: Table) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Whether it holds numbers, and its texts from the header down, of each column."""
    for column, *cells in zip(table.columns, *table.rows, strict=True):
        yield column.is_number, (column.header, *cells)


def _length(text: str) -> int:
    return max(map(len, text.split("\n")))


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _with_intervals_below(table: Table) -> Table:
    numbers = [column.is_number for column in table.columns]
    return replace(
        table,
        columns=tuple(
            replace(column, header=column.header.replace(" ", "\n")) if column.is_number else column
            for column in table.columns
        ),
        rows=tuple(
            tuple(
                cell.replace(" [", "\n[") if is_number else cell
                for cell, is_number in zip(row, numbers, strict=True)
            )
            for row in table.rows
        ),
    )


def _without(table: Table, index: int) -> Table:
    return replace(
        table,
        columns=table.columns[:index] + table.columns[index + 1 :],
        rows=tuple(row[:index] + row[index + 1 :] for row in table.rows),
    )
