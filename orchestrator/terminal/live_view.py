"""Live view of a running sweep: a table in a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orchestrator.analysis.measurements.setting import namer
from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.printable import cut, printable
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_state import TrialState
from orchestrator.execute.executor import TrialCallback
from orchestrator.terminal.printing import print_line
from orchestrator.terminal.progress import Progress, state_of

_ENDED_ROWS = 12  # ended attempts that the live table keeps in sight
_RUNNING_ROWS = 8
_OTHER_LINES = 2  # the line of progress, and the one that the cursor is in


class PlainProgress:
    """One line when an attempt ends: what a log file wants."""

    def __init__(
        self, console: Console, placements: Sequence[Placement], *, ledger: str, is_open: bool = False
    ) -> None:
        self._console = console
        self._ledger = ledger
        self._progress = Progress(placements, is_open=is_open)
        self._name_of = namer(placement.trial for placement in placements)

    def started(self, attempt: Attempt) -> None:
        """Show nothing yet."""
        self._progress.start(attempt)

    def placed(self, attempt: Attempt) -> None:
        """Show nothing yet."""

    def withdrawn(self, attempt: Attempt) -> None:
        """Show that the attempt waits again."""
        self._progress.withdraw(attempt)

    def ended(self, record: TrialRecord) -> None:
        """Say how it ended, and how much is left."""
        self._progress.end(record)
        text = cut(printable(_describe_end(record)), rest=f"all of it: {self._ledger}")
        print_line(
            self._console,
            f"{state_of(record):<9}  {self._name_of(record.spec)}  {text}  [{self._progress.line()}]",
        )


class LiveProgress:
    """Table of the last ended and the running trials, redrawn at every event; a row is one line at most."""

    def __init__(self, live: Live, placements: Sequence[Placement], *, is_open: bool = False) -> None:
        self._live = live
        self._progress = Progress(placements, is_open=is_open)
        self._name_of = namer(placement.trial for placement in placements)
        self._ended: list[TrialRecord] = []
        self._stages: dict[str, tuple[TrialState, str]] = {}
        self._draw()

    def started(self, attempt: Attempt) -> None:
        """Add a row."""
        self._progress.start(attempt)
        self._tell("starting", attempt)

    def placed(self, attempt: Attempt) -> None:
        """Tell in its row that it runs."""
        self._tell("running", attempt)

    def withdrawn(self, attempt: Attempt) -> None:
        """Take its row away."""
        self._progress.withdraw(attempt)
        self._draw()

    def ended(self, record: TrialRecord) -> None:
        """Move its row to the ended ones."""
        self._progress.end(record)
        self._ended = [*self._ended, record][-_ENDED_ROWS:]
        self._draw()

    def _tell(self, stage: TrialState, attempt: Attempt) -> None:
        self._stages[attempt.placement.trial_id] = stage, time.strftime("%H:%M:%S")
        self._draw()

    def _draw(self) -> None:
        running = list(self._progress.running.values())[:_RUNNING_ROWS]
        room = max(1, self._live.console.height - len(running) - _OTHER_LINES)
        table = Table.grid(padding=(0, 2, 0, 0))
        for is_whole in (
            True,
            True,
            True,
            False,
        ):  # state, trial, time, and of the rest what there is room for
            table.add_column(no_wrap=is_whole)
        for record in self._ended[-room:]:
            took = f"{record.ended_at - record.started_at:.1f} s"
            _add_row(table, state_of(record), self._name_of(record.spec), took, _describe_end(record))
        for attempt in running:
            stage, since = self._stages[attempt.placement.trial_id]
            again = f"attempt {attempt.number}" if attempt.number > 1 else ""
            _add_row(table, stage, self._name_of(attempt.placement.trial), f"since {since}", again)
        self._live.update(Group(table, Text(self._progress.line())), refresh=True)


def _add_row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(printable(cell), no_wrap=True, overflow="ellipsis") for cell in cells))


@contextmanager
def watching(
    console: Console, placements: Sequence[Placement], *, ledger: str, is_open: bool = False
) -> Iterator[TrialCallback]:
    """Show the live table on a terminal, and plain lines elsewhere.

    Args:
        ledger: the file with all that a line has no room for.
        is_open: a search chooses among the placements.
    """
    if not console.is_terminal or not placements:
        yield PlainProgress(console, placements, ledger=ledger, is_open=is_open)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield LiveProgress(live, placements, is_open=is_open)


def _describe_end(record: TrialRecord) -> str:
    """Describe an attempt's outcome: its rate, its cause of failure, or its substitutes."""
    if record.failure is not None:
        return f"{record.failure.kind}: {record.failure.message}"
    if record.provenance == "rehearsed":
        return ", ".join(record.placement.substitutions)
    metrics = metrics_of(record)
    if "run_seconds" in metrics:
        return f"a run of {metrics['run_seconds']:,.3g} s, no step reported"
    accuracy = f", accuracy {metrics['accuracy']:.3f}" if "accuracy" in metrics else ""
    return f"{metrics['steady_samples_per_second']:,.0f} samples/s{accuracy}{_describe_checkpoints(record)}"


def _describe_checkpoints(record: TrialRecord) -> str:
    """Describe the checkpoint that an attempt resumed from, and unusable ones."""
    result = record.result
    assert result is not None, "it was measured"
    resumed = [f"resumed from step {result.resumed_from_step:,}"] if result.resumed_from_step else []
    return "".join(f", {note}" for note in (*resumed, *result.checkpoint_notes))
