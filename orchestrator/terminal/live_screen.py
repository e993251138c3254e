"""The live view of a sweep, drawn from its state: head, best so far, ended and running trials. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.core.interval import Spread
from orchestrator.core.printable import printable
from orchestrator.terminal.progress import clock_words, left_words

_OTHER_LINES = 2  # a blank line above the rows, and the line that the cursor is in
_BAR_WIDTHS = ((110, 24), (90, 16), (0, 8))
_MARKS = {
    "measured": ("✓", "green"),
    "noisy": ("✓", "yellow"),
    "rehearsed": ("✓", "dim"),
    "pruned": ("/", "yellow"),
    "failed": ("✗", "red"),
    "running": ("▶", "cyan"),
    "starting": ("·", "dim"),
}
_PLAIN_MARKS = {"✓": "ok", "/": "/", "✗": "x", "▶": ">", "·": "."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A trial.

    Attributes:
        state: key of its mark.
        text: its stage while it runs, then its outcome.
        seconds: since it came to this state, or that it took.
    """

    state: str
    name: str
    text: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """State of a sweep that runs.

    Attributes:
        total: trials of the plan; None: a search chooses among them.
        spent: dollars so far, in words.
        shared: what all trials have in common.
        ended: trials that ended, the latest last; as many as there is room for are shown.
    """

    sweep: str
    num_done: int
    num_failed: int
    total: int | None
    elapsed_seconds: float
    left: Spread | None
    spent: str
    shared: str
    best: tuple[str, ...]
    ended: Sequence[Row]
    running: Sequence[Row]


def drawn(state: LiveState, *, width: int, height: int, is_ascii: bool) -> RenderableType:
    """Draw as many rows as there is room for; a row is one line."""
    texts = (Text.assemble(("best so far: ", "bold"), (printable(one), "green")) for one in state.best)
    head = [_head(state, width=width), _facts(state), *map(_line, texts)]
    room = max(1, height - len(head) - _OTHER_LINES)
    running = state.running[: max(1, room - 1)]
    ended = state.ended[len(state.ended) - min(len(state.ended), max(0, room - len(running))) :]
    table = Table.grid(padding=(0, 2, 0, 0))
    for is_whole in (True, True, True, False):  # mark, name, time, and of the rest what there is room for
        table.add_column(no_wrap=is_whole)
    for row in (*ended, *running):
        mark, style = _MARKS[row.state]
        table.add_row(
            Text(_PLAIN_MARKS[mark] if is_ascii else mark, style=style),
            Text(printable(row.name), style="bold" if row.state == "running" else ""),
            Text(clock_words(row.seconds) if row.state in ("running", "starting") else _took(row.seconds)),
            _line(Text(printable(row.text), style=style if row.state != "measured" else "")),
        )
    return Group(*head, Text(), table) if ended or running else Group(*head)


def _line(text: Text) -> Text:
    """Keep a text in one line, and cut it where there is no room."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else clock_words(seconds)


def _head(state: LiveState, *, width: int) -> RenderableType:
    """Draw name, bar, counts, elapsed and remaining time."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(4):
        grid.add_column(no_wrap=True)
    bar_width = next(size for least, size in _BAR_WIDTHS if width >= least)
    done = f"{state.num_done} done" if state.total is None else f"{state.num_done} of {state.total} done"
    bar = []
    if state.total is not None:
        bar = [
            ProgressBar(
                state.total, state.num_done, bar_width, complete_style="green", finished_style="green"
            )
        ]
    left = left_words(state.left)
    times = f"{clock_words(state.elapsed_seconds)} elapsed{', ' if left else ''}{left}"
    grid.add_row(Text(printable(state.sweep), style="bold"), *bar, Text(done), _line(Text(times)))
    return grid


def _facts(state: LiveState) -> Text:
    failed = Text(f"{state.num_failed} failed", style="red" if state.num_failed else "")
    shared = Text(f" · {printable(state.shared)}" if state.shared else "", style="dim")
    return _line(Text.assemble(f"{state.spent} so far, " if state.spent else "", failed, shared))
