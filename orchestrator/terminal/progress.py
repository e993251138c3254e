"""Progress of a sweep and its remaining time. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import TrialRecord


class Progress:
    """Counts what waits, runs and has ended.

    Args:
        is_open: a search chooses among the placements, so their number says nothing of what is left.
    """

    def __init__(self, placements: Sequence[Placement], *, is_open: bool = False) -> None:
        self._is_open = is_open
        self._left = {placement.trial_id: placement for placement in placements}
        self._total = len(placements)
        self._ended: dict[str, str] = {}
        self._took: list[tuple[Placement, float]] = []
        self.running: dict[str, Attempt] = {}

    def start(self, attempt: Attempt) -> None:
        """Count an attempt that runs; its trial may have failed before."""
        self.running[attempt.placement.trial_id] = attempt
        self._left.setdefault(attempt.placement.trial_id, attempt.placement)
        self._ended.pop(attempt.placement.trial_id, None)

    def withdraw(self, attempt: Attempt) -> None:
        """Count an attempt that was never begun."""
        self.running.pop(attempt.placement.trial_id)

    def end(self, record: TrialRecord) -> None:
        """Count an attempt that has ended."""
        self.running.pop(record.trial_id)
        self._left.pop(record.trial_id)
        self._ended[record.trial_id] = state_of(record)
        self._took.append((record.placement, record.ended_at - record.started_at))

    def line(self) -> str:
        """`7 of 20 done: 6 measured, 1 failed; about 40 s left`."""
        counts = Counter(self._ended.values())
        parts = ", ".join(
            f"{counts[state]} {state}"
            for state in ("measured", "rehearsed", "pruned", "failed")
            if counts[state]
        )
        if self._is_open:
            return f"{len(self._ended)} done{': ' if parts else ''}{parts}"
        left = describe_remaining(self._left.values(), self._took)
        return f"{len(self._ended)} of {self._total} done{': ' if parts else ''}{parts}{left}"

    def seconds_left(self) -> float | None:
        """Remaining seconds, from the function of that name."""
        return seconds_left(self._left.values(), self._took)


def describe_remaining(left: Iterable[Placement], took: Iterable[tuple[Placement, float]]) -> str:
    """`; about 40 s left`, or nothing where that is not known."""
    seconds = seconds_left(left, took)
    return f"; about {_duration(seconds)} left" if seconds and seconds >= 1 else ""


def seconds_left(left: Iterable[Placement], took: Iterable[tuple[Placement, float]]) -> float | None:
    """Estimate the remaining seconds at the mean duration of finished trials; None before the first.

    A trial takes as long as those of its trainer, and where none has ended as long as any.
    """
    by_kind: dict[tuple[str, str], list[float]] = defaultdict(list)
    for placement, seconds in took:
        by_kind[_kind_of(placement)].append(seconds)
    every = [trial for some in by_kind.values() for trial in some]
    if not every:
        return None
    return sum(fmean(by_kind.get(_kind_of(placement)) or every) for placement in left)


def _kind_of(placement: Placement) -> tuple[str, str]:
    return placement.provenance, placement.trial.trainer


def state_of(record: TrialRecord) -> str:
    """`measured`, `rehearsed`, `pruned` or `failed`."""
    if record.is_pruned:
        return "pruned"
    return "failed" if record.failure else record.provenance


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
