"""A table that fits a terminal: prose is folded, a number never, and what has no room is left out. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.table import Rank, Table

GAP = 2  # blanks between two columns
_LONGEST_WORD = 24  # a longer word of prose is broken, and where there is no room for that one of
_LEAST_PROSE = 12


def fitted(table: Table, *, width: int) -> Table:
    """The table in `width` characters; its note names the columns that had no room.

    Where it is too wide, columns that are equal in all rows leave, if a row becomes a line by that; then
    brackets that another column has. Else prose is folded; then intervals go below what they belong to, and
    words on them below those; then columns leave: those that are equal in all rows before others, then by
    their rank, and of equals the last one first. The first column stays unless all rows share it.
    """
    bare = _without_brackets(table)
    order = _in_order_of_leaving(table, width=width)
    shared = [index for index in order if _shared_cell(table, index) is not None]
    for slim in (table, bare):
        kept = _kept(slim, shared, width=width, width_of=_whole_width)
        if _whole_width(_only(slim, kept)) <= width:
            return _with_note(_only(slim, kept), table, kept)
    if _least_width(table) <= width:
        return table
    slim = _with_intervals_below(bare)
    kept = _kept(slim, order, width=width, width_of=_least_width)
    return _with_note(_only(slim, kept), table, kept)


def _kept(
    table: Table, leaving: Iterable[int], *, width: int, width_of: Callable[[Table], int]
) -> Sequence[int]:
    """Return the columns that stay where others leave in that order until there is room."""
    kept = list(range(len(table.columns)))
    for index in leaving:
        if width_of(_only(table, kept)) <= width:
            break
        kept.remove(index)
    return kept


def _with_note(slim: Table, table: Table, kept: Sequence[int]) -> Table:
    """Name the columns of the table that had no room."""
    left_out = [_left_out(table, index) for index in range(len(table.columns)) if index not in kept]
    note = (
        (f"{table.note} Columns left out because the terminal is too narrow: {', '.join(left_out)}.")
        if left_out
        else table.note
    )
    return replace(slim, note=note.strip())


def _in_order_of_leaving(table: Table, *, width: int) -> list[int]:
    def key(index: int) -> tuple[bool, bool, Rank, int]:
        is_shared = _shared_cell(table, index) is not None
        is_wide = (
            is_shared and 2 * _whole_width(_only(table, [index])) > width
        )  # it would take the others along
        column = table.columns[index]
        return is_wide, is_shared, Rank.DETAIL if column.is_detail else column.rank, index

    first = 0 if _shared_cell(table, 0) is not None else 1
    return sorted(range(first, len(table.columns)), key=key, reverse=True)


def _shared_cell(table: Table, index: int) -> str | None:
    """Return the cell that all of several rows have in a column; None: they differ, or there is one row."""
    cells = {row[index] for row in table.rows}
    return cells.pop() if len(cells) == 1 and len(table.rows) > 1 else None


def _left_out(table: Table, index: int) -> str:
    """Name a column that had no room, with the cell that all rows share."""
    header, cell = table.columns[index].header, _shared_cell(table, index)
    return header if cell in (None, "", UNKNOWN) else f"{header} ({cell} in all rows)"


def compute_widths(table: Table, *, width: int) -> tuple[int, ...]:
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


def _whole_width(table: Table) -> int:
    """Return the width with a line a row."""
    widths = [max(map(_length, texts)) for _, texts in _columns(table)]
    return sum(widths) + GAP * (len(widths) - 1)


def _least_width(table: Table, *, longest_word: int = _LEAST_PROSE) -> int:
    widths = _least_widths(table, longest_word=longest_word)
    return sum(widths) + GAP * (len(widths) - 1)


def _least_widths(table: Table, *, longest_word: int) -> list[int]:
    return [
        max(map(_length, texts))
        if is_number
        else min(max((len(word) for text in texts for word in text.split()), default=0), longest_word)
        for is_number, texts in _columns(table)
    ]


def _columns(table: Table) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Yield per column whether it holds numbers, and its texts from the header down."""
    for column, *cells in zip(table.columns, *table.rows, strict=True):
        yield column.is_number, (column.header, *cells)


def _length(text: str) -> int:
    return max(map(len, text.split("\n")))


def _without_brackets(table: Table) -> Table:
    """Drop the intervals that another column has, and break headers of numbers."""
    brackets = [column.is_bracketed for column in table.columns]
    if not any(brackets):
        return table
    return replace(
        table,
        columns=tuple(
            replace(column, header=_without_bracket(column.header).replace(" ", "\n"))
            if column.is_number
            else column
            for column in table.columns
        ),
        rows=tuple(
            tuple(_without_bracket(cell) if has else cell for cell, has in zip(row, brackets, strict=True))
            for row in table.rows
        ),
    )


def _without_bracket(text: str) -> str:
    return text.partition(" [")[0]


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
                cell.replace(" [", "\n[").replace("] ", "]\n") if is_number else cell
                for cell, is_number in zip(row, numbers, strict=True)
            )
            for row in table.rows
        ),
    )


def _only(table: Table, indices: Sequence[int]) -> Table:
    return replace(
        table,
        columns=tuple(table.columns[index] for index in indices),
        rows=tuple(tuple(row[index] for index in indices) for row in table.rows),
    )
