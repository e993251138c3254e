"""Lines, plans and findings in a terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table as RichTable
from rich.text import Text

from orchestrator.analysis.predictions.forecasts import predicted_of, predicted_table
from orchestrator.analysis.table import Table, cut
from orchestrator.analysis.tables.costs import prices_table
from orchestrator.analysis.tables.outcomes import skipped_table
from orchestrator.analysis.tables.plan import plan_table
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.printable import printable
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.terminal.table_layout import fitted, widths_of

_MOST_ROWS = 200  # a longer plan is counted, not listed, unless --all is given


def print_line(console: Console, line: str) -> None:
    """A line as it is; what is no terminal gets it unbroken."""
    console.print(Text(printable(line)), soft_wrap=not console.is_terminal)


def display_path(path: Path) -> str:
    """A path as short as it can be said from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def print_table(console: Console, table: Table) -> None:
    """A table with its title above, and below it the sentence on how to read it."""
    slim = fitted(table, width=console.width)
    drawn = RichTable(
        title=Text(printable(slim.title), style="bold"), title_justify="left", box=None, pad_edge=False
    )
    for column, width in zip(slim.columns, widths_of(slim, width=console.width), strict=True):
        justify: JustifyMethod = "right" if column.is_number else "left"
        drawn.add_column(Text(printable(column.header)), justify=justify, overflow="fold", width=width)
    for row in slim.rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    console.print(drawn)
    if slim.note:
        console.print(Text(printable(slim.note), style="dim"))
    console.print()


def print_plan(
    console: Console, plan: Plan, *, prices: Iterable[tuple[TrialSpec, Price | Unpriced]], list_all: bool
) -> None:
    """Every point, what their hardware costs, and the totals; of a long plan the reasons in place of points.

    Args:
        prices: prices of the trials that would run.
    """
    num_rows = len(plan.asked) + len(plan.skipped)
    if num_rows <= _MOST_ROWS or list_all:
        print_table(console, plan_table(plan))
    else:
        print_table(console, skipped_table(plan.skipped))
        console.print(Text(f"{num_rows:,} rows are counted here; --all lists them, --json is for programs"))
    priced = prices_table(prices)
    if priced.rows:
        print_table(console, priced)
    predicted = predicted_table(predicted_of(plan.forecasts))
    if predicted.rows:
        print_table(
            console,
            predicted if list_all else cut(predicted, most_rows=_MOST_ROWS, others="--all lists every one"),
        )
    console.print(totals_of(plan), highlight=False)


def totals_of(plan: Plan) -> str:
    """Summarise the trials that would run and the decisions on the other points."""
    kinds = Counter(placement.provenance for placement in plan.placements)
    num_stale = sum(cached.stale is not None for cached in plan.cached)
    stale = f" ({num_stale:,} stale)" if num_stale else ""
    failed = f", {len(plan.failed):,} failed before (--rerun-failed runs them)" if plan.failed else ""
    return (
        f"to run: {kinds['measured']:,} to measure, {kinds['rehearsed']:,} to rehearse; "
        f"{len(plan.cached):,} cached{stale}{failed}, {len(plan.skipped):,} skipped"
    )


@contextmanager
def download_bar(console: Console) -> Iterator[Callable[[int, int | None], None]]:
    """Hand out what is told (bytes so far, bytes in all or None) while the body downloads."""
    columns = (TextColumn("download"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("download", visible=False)

        def tell(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield tell
