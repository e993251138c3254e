"""Lines, tables and the end of a run in a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, JustifyMethod
from rich.table import Table as RichTable
from rich.text import Text

from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.core.placement import Cached, Plan
from orchestrator.core.printable import printable
from orchestrator.terminal.table_layout import compute_widths, fitted

if TYPE_CHECKING:  # a plan has no ending, and that knows all findings
    from orchestrator.terminal.ending import Ending


def print_line(console: Console, line: str) -> None:
    """A line as it is; what is no terminal gets it unbroken."""
    console.print(Text(printable(line)), soft_wrap=not console.is_terminal)


def display_path(path: Path) -> str:
    """Return a path, relative to the working directory if it lies there."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def print_table(console: Console, table: Table, *, is_last: bool = True) -> None:
    """A table with its title above, if it has one, and below it the sentence on how to read it.

    Its commands follow, numbered as their rows, each unbroken, and an empty line where it `is_last`.
    """
    numbered, commands = _with_commands_below(table)
    slim = fitted(numbered, width=console.width)
    title = Text(printable(slim.title), style="bold") if slim.title else None
    drawn = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for column, width in zip(slim.columns, compute_widths(slim, width=console.width), strict=True):
        justify: JustifyMethod = "right" if column.is_number else "left"
        drawn.add_column(Text(printable(column.header)), justify=justify, overflow="fold", width=width)
    for row in slim.rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    console.print(drawn)
    if slim.note:
        console.print(Text(printable(slim.note), style="dim"))
    for command in commands:
        console.print(Text(printable(command)), soft_wrap=True)
    if is_last:
        console.print()


def _with_commands_below(table: Table) -> tuple[Table, tuple[str, ...]]:
    """Number the rows in place of their commands, and return those apart."""
    index = next((index for index, column in enumerate(table.columns) if column.is_command), None)
    if index is None:
        return table, ()
    others = [other for other in range(len(table.columns)) if other != index]
    numbered = replace(
        table,
        columns=(
            Column(header="#", is_number=True, rank=Rank.SETTING),
            *(table.columns[other] for other in others),
        ),
        rows=tuple(
            (str(number), *(row[other] for other in others)) for number, row in enumerate(table.rows, start=1)
        ),
    )
    commands = ((number, row[index]) for number, row in enumerate(table.rows, start=1))
    return numbered, tuple(f"{number}  {command}" for number, command in commands if command)


def print_ending(console: Console, ending: "Ending", *, remarks: Iterable[str]) -> None:
    """Print the answers, the best settings, the facts and the next commands; each command is one line."""
    for job in ending.jobs:
        print_line(console, job)
    for answer in ending.answers:
        console.print(Text(printable(answer), style="bold"))
    if ending.table.rows:
        print_table(console, ending.table, is_last=False)
    for line in (*ending.facts, *remarks):
        print_line(console, line)
    for step in ending.steps:
        console.print(Text(printable(f"next: {step}")), soft_wrap=True)  # a command is copied whole


def summarise_totals(plan: Plan) -> str:
    """Summarise the trials that would run and the decisions on the other points."""
    kinds = Counter(placement.provenance for placement in plan.placements)
    failed = f", {len(plan.failed):,} failed before (--rerun-failed runs them)" if plan.failed else ""
    return (
        f"to run: {kinds['measured']:,} to measure, {kinds['rehearsed']:,} to rehearse; "
        f"{len(plan.cached):,} cached{_find_kinds(plan.cached)}{failed}, {len(plan.skipped):,} skipped"
    )


def _find_kinds(cached: Sequence[Cached]) -> str:
    """` (18 measured, 14 rehearsed, 3 stale)`; nothing where all of them were measured here."""
    kinds = Counter(trial.provenance for trial in cached)
    stale = sum(trial.stale is not None for trial in cached)
    if len(cached) == kinds["measured"] and not stale:
        return ""
    counts = (("measured", kinds["measured"]), ("rehearsed", kinds["rehearsed"]), ("stale", stale))
    return f" ({', '.join(f'{number:,} {kind}' for kind, number in counts if number)})"
