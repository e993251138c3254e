"""Progress of a sweep: what waits, runs and has ended, and the remaining time. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.interval import Spread
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import TrialRecord
from orchestrator.terminal.eta import Estimator, TaskTime, describe_task, describe_time

_MINUTE, _HOUR = 60.0, 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAttempt:
    """An attempt that was started.

    Attributes:
        is_placed: it has its hardware; otherwise it may wait for it.
        since: seconds since the epoch at which it came to this state.
    """

    attempt: Attempt
    is_placed: bool
    since: float


class Progress:
    """Counts of trials that wait, run and have ended.

    Args:
        is_open: a search chooses among the placements, so their number is not that of the remaining trials.
        history: trials of earlier commands.
    """

    def __init__(
        self, placements: Sequence[Placement], *, is_open: bool = False, history: Sequence[TaskTime] = ()
    ) -> None:
        self.is_open = is_open
        self.total = len(placements)
        self.running: dict[str, RunningAttempt] = {}
        self._left = {placement.trial_id: describe_task(placement) for placement in placements}
        self._ended: dict[str, str] = {}
        self._estimator = Estimator(history)

    def start(self, attempt: Attempt, *, now: float) -> None:
        """Count an attempt that runs; its trial may have failed before."""
        trial_id = attempt.placement.trial_id
        self.running[trial_id] = RunningAttempt(attempt=attempt, is_placed=False, since=now)
        self._left.setdefault(trial_id, describe_task(attempt.placement))
        self._ended.pop(trial_id, None)

    def place(self, attempt: Attempt, *, now: float) -> None:
        """Note that an attempt has its hardware."""
        self.running[attempt.placement.trial_id] = RunningAttempt(attempt=attempt, is_placed=True, since=now)

    def withdraw(self, attempt: Attempt) -> None:
        """Count an attempt that was never begun."""
        self.running.pop(attempt.placement.trial_id)

    def end(self, record: TrialRecord) -> None:
        """Count an attempt that has ended."""
        self.running.pop(record.trial_id)
        self._left.pop(record.trial_id)
        self._ended[record.trial_id] = record.outcome
        self._estimator.end(describe_time(record))

    @property
    def num_done(self) -> int:
        """Trials that have ended, and are not started again."""
        return len(self._ended)

    @property
    def num_failed(self) -> int:
        """Number of trials with a failed last attempt."""
        return Counter(self._ended.values())["failed"]

    def line(self, *, now: float) -> str:
        """Format `7 of 20 done: 6 measured, 1 failed; 30 to 50 s left`."""
        counts = Counter(self._ended.values())
        parts = ", ".join(
            f"{counts[state]} {state}"
            for state in ("measured", "rehearsed", "pruned", "failed")
            if counts[state]
        )
        of_all = "" if self.is_open else f" of {self.total}"
        left = left_words(self.seconds_left(now=now))
        return f"{self.num_done}{of_all} done{': ' if parts else ''}{parts}{'; ' if left else ''}{left}"

    def seconds_left(self, *, now: float) -> Spread | None:
        """Estimate the remaining seconds; None where a search decides, and where it is not known yet."""
        if self.is_open:
            return None
        placed = [one for one in self.running.values() if one.is_placed]
        running = {one.attempt.placement.trial_id: one.since for one in placed}
        waiting = Counter(task for trial_id, task in self._left.items() if trial_id not in running)
        return self._estimator.seconds_left(
            waiting, [(self._left[trial_id], since) for trial_id, since in running.items()], now=now
        )


def left_words(seconds: Spread | None) -> str:
    """Format `30 to 50 s left`; nothing where that is not known, or not worth a word."""
    if seconds is None or seconds.median < 1:
        return ""
    unit, size = next(
        ((unit, size) for unit, size in (("h", _HOUR), ("min", _MINUTE)) if seconds.median >= 2 * size),
        ("s", 1.0),
    )
    low, high = _rounded(seconds.low / size), _rounded(seconds.high / size)
    return f"about {high} {unit} left" if low == high else f"{low} to {high} {unit} left"


def _rounded(value: float) -> str:
    """Write at most two digits: more would promise too much."""
    digits = max(0, math.floor(math.log10(value)) - 1) if value >= 1 else 0
    return f"{round(value, -digits):,.0f}"


def clock_words(seconds: float) -> str:
    """Write `0:07`, `1:02:03`."""
    minutes, rest = divmod(max(0, math.floor(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
