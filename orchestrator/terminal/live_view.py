"""Live view of a running sweep: a table in a terminal, plain lines elsewhere."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live

from orchestrator.analysis.comparison.compare import compute_ratio, verdict_on
from orchestrator.analysis.formatting import count, data_name, number
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.measurements.setting import names_in, short_names
from orchestrator.analysis.metrics.cost import compute_bill
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.interval import compute_spread
from orchestrator.core.placement import Attempt, Plan, task_name
from orchestrator.core.price import Price, find_marks
from orchestrator.core.printable import cut, printable
from orchestrator.core.result import TrialRecord
from orchestrator.execute.executor import TrialCallback
from orchestrator.execute.trial.stages import read_stage
from orchestrator.terminal.eta import list_history
from orchestrator.terminal.live_screen import LiveState, Row, drawn
from orchestrator.terminal.printing import print_line
from orchestrator.terminal.progress import Progress, RunningAttempt
from orchestrator.terminal.trial_outcome import long_outcome, short_outcome, stage_words

_WORDS = {"faster": "faster", "no difference shown": "tie", "too few repeats": "too few repeats"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Samples per second of one undisturbed trial.

    Attributes:
        job: workload and data, within which rates compare.
    """

    job: str
    setting: str
    samples_per_second: float


def best_so_far(rates: Iterable[Rate]) -> tuple[str, ...]:
    """Show for every job which setting leads, by how much and how surely; nothing before a measurement."""
    jobs: dict[str, dict[str, list[float]]] = {}
    for rate in rates:
        jobs.setdefault(rate.job, {}).setdefault(rate.setting, []).append(rate.samples_per_second)
    return tuple(
        f"{f'{job}: ' if len(jobs) > 1 else ''}{_lead(settings)}" for job, settings in sorted(jobs.items())
    )


def _lead(settings: dict[str, list[float]]) -> str:
    """Format `cpu bf16, 18,700 samples/s (tie, 1.15x cpu fp32)`: in a narrow terminal the verdict stays."""
    means = {setting: compute_spread(rates).median for setting, rates in settings.items()}
    first, *others = sorted(settings, key=lambda setting: -means[setting])
    fastest = f"{first}, {count(round(means[first]))} samples/s"
    if not others:
        return f"{fastest} (the only setting measured so far)"
    return f"{fastest} ({_against(settings[first], settings[others[0]], others[0])})"


def _against(own: Sequence[float], other: Sequence[float], name: str) -> str:
    ratio = compute_ratio(own, other)
    verdict = verdict_on(ratio, num_repeats=min(len(own), len(other)))
    return f"{_WORDS[verdict]}, {ratio.median:.2f}x {name}"


_MOST_ENDED = 60  # ended attempts that the live view keeps for tall terminals
_DRAWN_PER_SECOND = 1.0
_MOST_BEST = 3  # jobs whose best setting is shown


class PlainProgress:
    """One line when an attempt ends: what a log file wants."""

    def __init__(self, console: Console, plan: Plan, progress: Progress, *, ledger: str) -> None:
        self._console = console
        self._ledger = ledger
        self._progress = progress
        self._find_name = names_in(plan)

    def started(self, attempt: Attempt) -> None:
        """Show nothing yet."""
        self._progress.start(attempt, now=time.time())

    def placed(self, attempt: Attempt) -> None:
        """Show nothing yet."""
        self._progress.place(attempt, now=time.time())

    def withdrawn(self, attempt: Attempt) -> None:
        """Show that the attempt waits again."""
        self._progress.withdraw(attempt)

    def ended(self, record: TrialRecord) -> None:
        """Describe how it ended, and how much is left."""
        self._progress.end(record)
        text = cut(printable(long_outcome(record)), rest=f"all of it: {self._ledger}")
        print_line(
            self._console,
            f"{record.outcome:<9}  {self._find_name(record.spec)}  {text}  "
            f"[{self._progress.line(now=time.time())}]",
        )


class LiveProgress:
    """State of the live view, which a thread of rich draws every second.

    Args:
        folder: folder of the sweep, where running trials write their stage.
        on_change: draws the state at once.
    """

    def __init__(
        self,
        plan: Plan,
        progress: Progress,
        *,
        folder: Path,
        clock: Callable[[], float] = time.time,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._plan = plan
        self._progress = progress
        self._folder = folder
        self._clock = clock
        self._on_change = on_change
        self._began = clock()
        self._names = short_names(trial.trial for trial in plan.placements)
        self._ended: list[Row] = []
        self._rates: list[Rate] = []
        self._usd = 0.0
        self._price_marks: dict[str, None] = {}
        self._is_priced = False
        self._lock = threading.Lock()

    def started(self, attempt: Attempt) -> None:
        """Add a row."""
        with self._lock:
            self._progress.start(attempt, now=self._clock())
        self._on_change()

    def placed(self, attempt: Attempt) -> None:
        """Show in its row that it runs."""
        with self._lock:
            self._progress.place(attempt, now=self._clock())
        self._on_change()

    def withdrawn(self, attempt: Attempt) -> None:
        """Take its row away."""
        with self._lock:
            self._progress.withdraw(attempt)
        self._on_change()

    def ended(self, record: TrialRecord) -> None:
        """Move its row to the ended ones."""
        with self._lock:
            self._progress.end(record)
            noise = describe_noise(record) if record.outcome == "measured" else ""
            row = Row(
                state="noisy" if noise else record.outcome,
                name=self._names.trial(record.spec),
                text=short_outcome(record, self._plan),
                seconds=record.seconds,
            )
            self._ended = [*self._ended, row][-_MOST_ENDED:]
            if record.provenance == "measured":
                bill = compute_bill(record)
                if bill is not None and isinstance(record.price, Price):
                    self._is_priced = True
                    self._usd += bill.usd
                    self._price_marks.update(dict.fromkeys(find_marks(record.price)))
            if record.result and record.provenance == "measured" and record.placement.trains and not noise:
                rate = collect_metrics(record).get("steady_samples_per_second")
                if rate is not None:
                    spec = record.spec
                    job = f"{task_name(spec.workload, spec.workload_options)}, {data_name(spec.data)}"
                    setting = self._names.setting(spec)
                    self._rates.append(Rate(job=job, setting=setting, samples_per_second=rate))
        self._on_change()

    def state(self) -> LiveState:
        """Return what is to be drawn now."""
        with self._lock:
            now = self._clock()
            progress = self._progress
            running = sorted(progress.running.values(), key=lambda one: not one.is_placed)
            spent = f"${number(self._usd, digits=2)} {' '.join(self._price_marks)}".rstrip()
            return LiveState(
                sweep=self._plan.sweep,
                num_done=progress.num_done,
                num_failed=progress.num_failed,
                total=None if progress.is_open else progress.total,
                elapsed_seconds=now - self._began,
                left=progress.seconds_left(now=now),
                spent=spent if self._is_priced else "",
                shared=self._names.shared,
                best=best_so_far(self._rates)[:_MOST_BEST],
                ended=tuple(self._ended),
                running=tuple(self._running_row(one, now=now) for one in running),
            )

    def _running_row(self, one: RunningAttempt, *, now: float) -> Row:
        placement = one.attempt.placement
        again = f", attempt {one.attempt.number}" if one.attempt.number > 1 else ""
        stage = stage_words(read_stage(self._folder, placement.trial_id)) if one.is_placed else "starting"
        return Row(
            state="running" if one.is_placed else "starting",
            name=self._names.trial(placement.trial),
            text=f"{stage}{again}",
            seconds=now - one.since,
        )


@contextmanager
def watching(
    console: Console,
    plan: Plan,
    *,
    folder: Path,
    ledger: str,
    history: Sequence[TrialRecord] = (),
    is_plain: bool = False,
) -> Iterator[TrialCallback]:
    """Show the live view on a terminal, and plain lines elsewhere.

    Args:
        folder: folder of the sweep.
        ledger: the file with all that a line has no room for.
        history: records of earlier commands, from which the time of trials is estimated.
        is_plain: plain lines on a terminal too.
    """
    progress = Progress(plan.placements, is_open=plan.search.is_adaptive, history=list_history(history))
    # logs of a CI service look like a terminal, and keep every line
    can_redraw = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")
    if is_plain or not can_redraw or not plan.placements:
        yield PlainProgress(console, plan, progress, ledger=ledger)
        return
    live_progress = LiveProgress(plan, progress, folder=folder, on_change=lambda: live.refresh())

    def render() -> RenderableType:
        return drawn(
            live_progress.state(),
            width=console.width,
            height=console.height,
            is_ascii=not console.encoding.startswith("utf"),
        )

    with Live(console=console, get_renderable=render, refresh_per_second=_DRAWN_PER_SECOND) as live:
        yield live_progress
