"""Lines, plans and findings in a terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table as RichTable
from rich.text import Text

from orchestrator.analysis.formatting import list_inputs
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.predictions.forecasts import predicted_of, predicted_table
from orchestrator.analysis.table import Column, Rank, Table, cut
from orchestrator.analysis.tables.costs import prices_table
from orchestrator.analysis.tables.outcomes import stale_table
from orchestrator.analysis.tables.plan import plan_table
from orchestrator.analysis.tables.plan_groups import plan_groups_table, skipped_groups_table
from orchestrator.core.placement import Cached, Plan
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.printable import printable
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.terminal.table_layout import fitted, widths_of

if TYPE_CHECKING:  # a plan has no ending, and that knows all findings
    from orchestrator.terminal.ending import Ending

_MOST_ROWS = 100  # of one table, unless --all is given


def print_line(console: Console, line: str) -> None:
    """A line as it is; what is no terminal gets it unbroken."""
    console.print(Text(printable(line)), soft_wrap=not console.is_terminal)


def display_path(path: Path) -> str:
    """A path as short as it can be said from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def print_table(console: Console, table: Table) -> None:
    """A table with its title above, if it has one, and below it the sentence on how to read it.

    Its commands follow, numbered as their rows, each unbroken.
    """
    numbered, commands = _with_commands_below(table)
    slim = fitted(numbered, width=console.width)
    title = Text(printable(slim.title), style="bold") if slim.title else None
    drawn = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for column, width in zip(slim.columns, widths_of(slim, width=console.width), strict=True):
        justify: JustifyMethod = "right" if column.is_number else "left"
        drawn.add_column(Text(printable(column.header)), justify=justify, overflow="fold", width=width)
    for row in slim.rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    console.print(drawn)
    if slim.note:
        console.print(Text(printable(slim.note), style="dim"))
    for command in commands:
        console.print(Text(printable(command)), soft_wrap=True)
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


def print_plan(
    console: Console, plan: Plan, *, prices: Iterable[tuple[TrialSpec, Price | Unpriced]], list_all: bool
) -> None:
    """What is to run, what is not and why, what the hardware costs, and the totals.

    Args:
        prices: prices of the trials that would run.
        list_all: every point in a row of its own, in place of settings and reasons with their counts.
    """
    of_points = (
        [plan_table(plan)]
        if list_all
        else [
            plan_groups_table(plan),
            skipped_groups_table(plan.skipped),
            *([stale_table(plan.cached, names_in(plan))] if any(one.stale for one in plan.cached) else []),
        ]
    )
    for table in (*of_points, prices_table(prices), predicted_table(predicted_of(plan.forecasts))):
        if table.rows:
            shown = cut(table, most_rows=_MOST_ROWS, others="--all lists every one")
            print_table(console, table if list_all else shown)
    for line in list_inputs(plan.inputs.items()):
        print_line(console, line)
    console.print(totals_of(plan), highlight=False)


def print_ending(console: Console, ending: "Ending", *, remarks: Iterable[str]) -> None:
    """Print the answers, the best settings, the facts and the next commands; each command is one line."""
    for job in ending.jobs:
        print_line(console, job)
    for answer in ending.answers:
        console.print(Text(printable(answer), style="bold"))
    if ending.table.rows:
        print_table(console, ending.table)
    for line in (*ending.facts, *remarks):
        print_line(console, line)
    for step in ending.steps:
        console.print(Text(printable(f"next: {step}")), soft_wrap=True)  # a command is copied whole


def totals_of(plan: Plan) -> str:
    """Summarise the trials that would run and the decisions on the other points."""
    kinds = Counter(placement.provenance for placement in plan.placements)
    failed = f", {len(plan.failed):,} failed before (--rerun-failed runs them)" if plan.failed else ""
    return (
        f"to run: {kinds['measured']:,} to measure, {kinds['rehearsed']:,} to rehearse; "
        f"{len(plan.cached):,} cached{_kinds_of(plan.cached)}{failed}, {len(plan.skipped):,} skipped"
    )


def _kinds_of(cached: Sequence[Cached]) -> str:
    """` (18 measured, 14 rehearsed, 3 stale)`; nothing where all of them were measured here."""
    kinds = Counter(trial.provenance for trial in cached)
    stale = sum(trial.stale is not None for trial in cached)
    if len(cached) == kinds["measured"] and not stale:
        return ""
    counts = (("measured", kinds["measured"]), ("rehearsed", kinds["rehearsed"]), ("stale", stale))
    return f" ({', '.join(f'{number:,} {kind}' for kind, number in counts if number)})"


@contextmanager
def download_bar(console: Console) -> Iterator[Callable[[int, int | None], None]]:
    """Hand out what is told (bytes so far, bytes in all or None) while the body downloads."""
    columns = (TextColumn("download"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("download", visible=False)

        def tell(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield tell
