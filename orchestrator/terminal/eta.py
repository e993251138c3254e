"""How long is left of a sweep, from how long its trials and those of earlier sweeps took. Pure.

A trial lasts as long as trials like it: of its setting, else of its provenance and trainer in proportion to
their samples, else of its provenance. A rehearsal without another one takes what a measured trial takes
beside its steps; no measured trial is estimated from rehearsals alone. What this run showed comes before
what earlier runs showed. The start of a framework's process is counted apart, once for every trainer that
this run has not started yet.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from orchestrator.core.interval import Spread
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import setting_id

_WARM_SECONDS = (
    0.3  # around a trial whose framework runs already: what is above it is a start of the framework
)
_AT_LEAST_LEFT = 0.1  # of a trial that runs longer than expected, as a share of what it has taken
_LATEST = 8  # trials of one kind that count; older ones ran under another load
_MOST_HISTORY = 2_000  # records of earlier runs that are looked at, the newest

_OF_SETTING, _OF_TRAINER, _OF_PROVENANCE, _OF_OTHERS = 0.15, 0.35, 0.7, 1.0
"""Relative errors of a duration, by what it was taken from; a test replays recorded sweeps."""

_DRIFT = 0.3  # of the host's speed from now on


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A trial, by what its duration depends on.

    Attributes:
        setting: equal in all seeds and repeats.
        samples: that it trains on.
    """

    provenance: str
    trainer: str
    setting: str
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTime:
    """When a trial started and ended.

    Attributes:
        busy_seconds: of its workers; None without a result. The rest is the start of the framework's process.
        stepping_seconds: part of these that is in proportion to the samples: no first step, which compiles.
    """

    task: Task
    started_at: float
    ended_at: float
    busy_seconds: float | None = None
    stepping_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """From start to end."""
        return self.ended_at - self.started_at

    @property
    def start_seconds(self) -> float:
        """Seconds that the framework's process took to start; 0 where it ran already."""
        if self.busy_seconds is None:
            return 0.0
        return max(0.0, self.seconds - self.busy_seconds - _WARM_SECONDS)


def describe_task(placement: Placement) -> Task:
    """Describe a trial that is to run."""
    trial = placement.trial
    return Task(
        provenance=placement.provenance,
        trainer=trial.trainer,
        setting=setting_id(trial),
        samples=trial.steps * trial.global_batch_size,
    )


def describe_time(record: TrialRecord) -> TaskTime:
    """Describe a trial that has ended."""
    result = record.result
    return TaskTime(
        task=describe_task(record.placement),
        started_at=record.started_at,
        ended_at=record.ended_at,
        busy_seconds=result.seconds if result else None,
        stepping_seconds=result.training_seconds - result.first_step_seconds if result else 0.0,
    )


def list_history(records: Iterable[TrialRecord]) -> tuple[TaskTime, ...]:
    """Describe the newest trials that earlier commands ran to their end, the oldest first."""
    whole = (record for record in records if record.result is not None and record.reused_from is None)
    return tuple(map(describe_time, sorted(whole, key=lambda record: record.ended_at)[-_MOST_HISTORY:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guess:
    """Expected seconds of a trial, and the kind of trials that this was taken from: its error is theirs."""

    seconds: float
    error: float
    kind: tuple[str, ...]
    provenance: str


class Estimator:
    """Estimates what is left of a run.

    Args:
        history: trials of earlier commands.
    """

    def __init__(self, history: Sequence[TaskTime] = ()) -> None:
        self._ended: list[TaskTime] = []
        found: dict[tuple[str, ...], list[TaskTime]] = {}
        for time in history:
            for kind in _find_kinds(time.task):
                found.setdefault(kind, []).append(time)
        self._of_history = found
        self._of_run: dict[tuple[str, ...], list[TaskTime]] = {}
        self._known: list[TaskTime] = list(history)
        self._guesses: dict[Task, _Guess | None] = {}

    def end(self, time: TaskTime) -> None:
        """Take note of a trial that has ended."""
        self._ended.append(time)
        self._known.append(time)
        for kind in _find_kinds(time.task):
            self._of_run.setdefault(kind, []).append(time)
        self._guesses.clear()

    def seconds_left(
        self, waiting: Mapping[Task, int], running: Sequence[tuple[Task, float]] = (), *, now: float = 0.0
    ) -> Spread | None:
        """Estimate the remaining seconds between likely ends; None if no time of a trial is known.

        Args:
            waiting: trials to run, with their numbers.
            running: trials that run, with their starts, on the clock of `now` and of the ended ones.
        """
        guesses = [
            *(self._compute_rest(task, since, now=now) for task, since in running),
            *(self._list_all(task, number) for task, number in waiting.items()),
        ]
        known = [guess for guess in guesses if guess is not None]
        if len(known) < len(guesses):
            return None
        started = {time.task.trainer for time in self._ended} | {task.trainer for task, _ in running}
        starts = [self._start_seconds(name) for name in {task.trainer for task in waiting} - started]
        known += [
            _Guess(seconds=seconds, error=_OF_TRAINER, kind=("start",), provenance="measured")
            for seconds in starts
        ]
        return _sum_parts([self._shared(guess) for guess in known])

    def _shared(self, guess: _Guess) -> _Guess:
        """Divide by the trials of that provenance that ran at once: rehearsals need fewer cores."""
        alike = [time for time in self._ended if time.task.provenance == guess.provenance]
        covered = _covered(alike)
        at_once = max(1.0, sum(time.seconds for time in alike) / covered) if covered else 1.0
        return replace(guess, seconds=guess.seconds / at_once)

    def _list_all(self, task: Task, number: int) -> _Guess | None:
        guess = self._guess(task)
        return guess and replace(guess, seconds=number * (guess.seconds + self._pause_seconds()))

    def _compute_rest(self, task: Task, since: float, *, now: float) -> _Guess | None:
        guess = self._guess(task)
        if guess is None:
            return None
        is_first = all(time.task.trainer != task.trainer for time in self._ended)
        whole = guess.seconds + (self._start_seconds(task.trainer) if is_first else 0.0)
        return replace(guess, seconds=max(whole - (now - since), _AT_LEAST_LEFT * (now - since)))

    def _guess(self, task: Task) -> _Guess | None:
        if task not in self._guesses:
            of_setting, of_trainer, of_provenance = _find_kinds(task)
            self._guesses[task] = (
                self._like(task, of_setting, error=_OF_SETTING)
                or self._like(task, of_trainer, error=_OF_TRAINER)
                or self._beside_steps(task, task.trainer)
                or self._like(task, of_provenance, error=_OF_PROVENANCE)
                or self._beside_steps(task, None)
            )
        return self._guesses[task]

    def _like(self, task: Task, kind: tuple[str, ...], *, error: float) -> _Guess | None:
        """Take what trials of that kind took, in this run or else before."""
        alike = (self._of_run.get(kind) or self._of_history.get(kind) or [])[-_LATEST:]
        if not alike:
            return None
        seconds = median(_scaled(time, task) for time in alike)
        return _Guess(seconds=seconds, error=error, kind=kind, provenance=task.provenance)

    def _beside_steps(self, task: Task, trainer: str | None) -> _Guess | None:
        """Take for a rehearsal what measured trials take beside their steps; of any trainer if it is None."""
        if task.provenance != "rehearsed":
            return None
        beside = [
            time.busy_seconds - time.stepping_seconds
            for time in self._known
            if time.busy_seconds is not None and trainer in (None, time.task.trainer)
        ][-_LATEST:]
        kind = ("rehearsed", task.trainer)
        return (
            _Guess(seconds=median(beside), error=_OF_OTHERS, kind=kind, provenance="rehearsed")
            if beside
            else None
        )

    def _start_seconds(self, trainer: str) -> float:
        """Expected seconds of the start of a trainer's process: as before, else as that of others."""
        starts: dict[str, list[float]] = {}
        for time in self._known:
            if time.start_seconds:
                starts.setdefault(time.task.trainer, []).append(time.start_seconds)
        if trainer in starts:
            return median(starts[trainer][-_LATEST:])
        return fmean([median(others) for others in starts.values()]) if starts else 0.0

    def _pause_seconds(self) -> float:
        """Estimate the time between two trials of this run in which nothing ran.

        It is 0 where something still ran.
        """
        pauses: list[float] = []
        until = math.inf
        for time in sorted(self._ended, key=lambda time: time.started_at):
            if until < math.inf:
                pauses.append(max(0.0, time.started_at - until))
            until = max(until, time.ended_at) if until < math.inf else time.ended_at
        return median(pauses or [0.0])


def _find_kinds(task: Task) -> tuple[tuple[str, ...], ...]:
    """Return the kinds of trials that a task is one of, the narrowest first."""
    return (
        (task.provenance, task.trainer, task.setting, str(task.samples)),
        (task.provenance, task.trainer),
        (task.provenance,),
    )


def _scaled(time: TaskTime, task: Task) -> float:
    """Compute a trial's seconds without its framework's start, its training in proportion to the samples."""
    scale = task.samples / time.task.samples if time.task.samples else 1.0
    return time.seconds - time.start_seconds + (scale - 1) * time.stepping_seconds


def _sum_parts(guesses: Sequence[_Guess]) -> Spread:
    """Add up: errors of one kind are the same error, those of others are independent, and drift hits all."""
    total = sum(guess.seconds for guess in guesses)
    by_kind: dict[tuple[str, ...], float] = {}
    for guess in guesses:
        by_kind[guess.kind] = by_kind.get(guess.kind, 0.0) + guess.seconds * guess.error
    relative = math.hypot(_DRIFT, math.hypot(*by_kind.values()) / total) if total else 0.0
    return Spread(median=total, low=total / (1 + relative), high=total * (1 + relative))


def _covered(times: Sequence[TaskTime]) -> float:
    """Compute the seconds in which at least one trial ran."""
    covered, until = 0.0, -math.inf
    for time in sorted(times, key=lambda time: time.started_at):
        covered += max(0.0, time.ended_at - max(until, time.started_at))
        until = max(until, time.ended_at)
    return covered
