"""Queue that decides which trial starts next and which starts again, for every executor."""

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Protocol

from orchestrator.core.errors import FailureKind
from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.trial_progress import Pruning, TrialProgress
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.capacity import count_nodes, fits_now, site_names
from orchestrator.execute.scheduling.retry import rest_seconds, starts_again
from orchestrator.execute.scheduling.stop import StopRequest


def next_startable(
    waiting: Iterable[Attempt],
    running: Sequence[Placement],
    *,
    inventory: Inventory,
    kept: Mapping[str, int],
) -> Attempt | None:
    """Return the first waiting attempt for which there is room beside what runs, or None to wait. Pure.

    Args:
        kept: as for `fits_now`.
    """
    return next(
        (
            attempt
            for attempt in waiting
            if fits_now(attempt.placement, running, inventory=inventory, kept=kept)
        ),
        None,
    )


ObstacleOf = Callable[[Placement], str]
"""Function that names the obstacle to a start now: `room`, or a cap; empty: none."""


class TrialChooser(Protocol):
    """Search that chooses the next trial of a sweep; a queue without one starts its trials in their order."""

    def next_trial(self, format_obstacle: ObstacleOf) -> str | None:
        """Choose the trial_id of the next trial; None: none starts now."""

    def start(self, trial_id: str) -> None:
        """Take note that a trial runs."""

    def end(self, record: TrialRecord) -> None:
        """Take note of the record of a trial that is not tried again."""

    def find_pruning(self, trial_id: str, shown: TrialProgress) -> Pruning | None:
        """Decide whether a running trial is ended early; None: it goes on."""

    def drop(self, trial_id: str) -> None:
        """Take note that a trial is not run, and has no record of that."""


class Queue:
    """The attempts of a sweep that wait and run, in this process.

    Attributes:
        placements: all placements of the sweep, in their order.

    Args:
        backoff_seconds: wait after a trial's first failure of a kind; doubled after every further one.
        budget_tracker: caps and spending of the sweep.
        clock: monotonic seconds.
        requested: returns the current stop request, or None.
        chooser: chooses among the placements; None: they start in their order.
    """

    def __init__(
        self,
        placements: Sequence[Placement],
        *,
        inventory: Inventory,
        prior_attempts: Mapping[str, int],
        retry_limits: Mapping[FailureKind, int],
        budget_tracker: BudgetTracker,
        backoff_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        requested: Callable[[], StopRequest | None] = lambda: None,
        chooser: TrialChooser | None = None,
    ) -> None:
        self.placements = tuple(placements)
        self._inventory = inventory
        self._budget_tracker = budget_tracker
        self._requested = requested
        self._retry_limits = retry_limits
        self._backoff_seconds = backoff_seconds
        self._clock = clock
        self._resting: list[tuple[float, Attempt]] = []  # until when
        self._waiting = _Waiting()
        self._chooser = chooser
        self._unchosen: dict[str, Attempt] = {}
        self._waits_for_a_result = False
        self._has_chosen = chooser is None
        for placement in self.placements:
            number = prior_attempts.get(placement.trial_id, 0) + 1
            attempt = Attempt(placement=placement, number=number)
            if chooser is None:
                self._waiting.add(attempt)
            else:
                self._unchosen[placement.trial_id] = attempt
        self._running: dict[str, Attempt] = {}
        self._pruned: dict[str, Pruning] = {}  # of running trials
        self._kept: dict[str, int] = {}  # site -> most nodes at once since its first trial
        self._failed: Counter[tuple[str, str]] = Counter()

    @property
    def is_drained(self) -> bool:
        """True where no trial waits, rests or runs, and none is to be chosen."""
        return not self._waiting and not self._resting and not self._running and self._has_chosen

    @property
    def is_stopped(self) -> bool:
        """True where no trial is to be started or retried."""
        return self._requested() is not None

    def take(self) -> Attempt | None:
        """Return the next attempt to start; it counts as running. None: no room, or nothing waits.

        Where nothing runs the first that waits is taken even if it is too large: waiting makes no room.
        """
        if self.is_stopped:
            self._waiting = _Waiting()
            self._resting.clear()
            self._has_chosen = True
        self._wake()
        running = [attempt.placement for attempt in self._running.values()]
        if not running:
            self._leave_out()
        first = [
            attempt
            for attempt in self._waiting.first_of_each_demand()
            if self._budget_tracker.can_start(attempt.placement)
        ]
        attempt = next_startable(first, running, inventory=self._inventory, kept=self._kept)
        if attempt is None and first and not running:
            attempt = first[0]
        if attempt is not None:
            self._waiting.remove_first(attempt.placement)
        else:
            attempt = self._choose(running)
        if attempt is not None:
            self._running[attempt.placement.trial_id] = attempt
            self._budget_tracker.start(attempt.placement)
            self._keep_nodes(site_names(attempt.placement, self._inventory))
        return attempt

    def _choose(self, running: Sequence[Placement]) -> Attempt | None:
        """Let the search choose a trial that may start; it has ended where it has none and nothing runs."""
        is_idle = self._waits_for_a_result and (running or self._resting)
        if self._chooser is None or self._has_chosen or is_idle:
            return None
        trial_id = self._chooser.next_trial(self._obstacles(running))
        if trial_id is not None:
            self._chooser.start(trial_id)
            return self._unchosen.pop(trial_id)
        self._waits_for_a_result = True
        self._has_chosen = not running and not self._resting and not self._waiting
        return None

    def _obstacles(self, running: Sequence[Placement]) -> ObstacleOf:
        """Describe what keeps a trial from starting beside what runs; equal demands are alike in room."""
        has_room: dict[tuple[object, ...], bool] = {}

        def format_obstacle(placement: Placement) -> str:
            demand = _demand(placement)
            if demand not in has_room:
                has_room[demand] = not running or fits_now(
                    placement, running, inventory=self._inventory, kept=self._kept
                )
            return self._budget_tracker.format_obstacle(placement) if has_room[demand] else "room"

        return format_obstacle

    def _leave_out(self) -> None:
        """Exclude waiting trials that exceed the budget while nothing runs that could end cheaper than
        estimated.
        """
        while over := [
            attempt.placement
            for attempt in self._waiting.first_of_each_demand()
            if not self._budget_tracker.can_start(attempt.placement)
        ]:
            for placement in over:
                self._waiting.remove_first(placement)
                self._budget_tracker.exclude(placement)
                self._report_dropped(placement)

    def _report_dropped(self, placement: Placement) -> None:
        if self._chooser is not None:
            self._chooser.drop(placement.trial_id)

    def add_progress(self, attempt: Attempt, shown: TrialProgress) -> None:
        """Take note of what a running trial has shown; the search may end it early."""
        trial_id = attempt.placement.trial_id
        if self._chooser is not None and trial_id not in self._pruned:
            pruning = self._chooser.find_pruning(trial_id, shown)
            if pruning is not None:
                self._pruned[trial_id] = pruning

    def leaving(self) -> tuple[Attempt, ...]:
        """Return running attempts that must stop, because of a request, the budget or the search."""
        if self._requested() == "cancel":
            return tuple(self._running.values())
        leaving = {*self._budget_tracker.over_budget(), *self._pruned}
        return tuple(attempt for trial_id, attempt in self._running.items() if trial_id in leaving)

    def with_cause(self, record: TrialRecord) -> TrialRecord:
        """Return the record of an attempt, with the budget or the search as its cause if that stopped it."""
        record = self._budget_tracker.with_cause(record)
        pruning, failure = self._pruned.get(record.trial_id), record.failure
        if pruning is None or failure is None or failure.kind != "preempted":
            return record
        return replace(record, failure=Failure(kind="pruned", message=pruning.why), pruning=pruning)

    def _keep_nodes(self, names: Iterable[str]) -> None:
        """Let a site keep its nodes as long as trials wait for them."""
        running = [attempt.placement for attempt in self._running.values()]
        waiting = [
            site_names(attempt.placement, self._inventory) for attempt in self._waiting.first_of_each_demand()
        ]
        for name in names:
            nodes = count_nodes(name, running, inventory=self._inventory)
            waits = any(name in pools for pools in waiting)
            self._kept[name] = max(nodes, self._kept.get(name, 0)) if waits else nodes

    def end(self, record: TrialRecord) -> None:
        """Take note of a record; its trial rests, and then waits at the front, if its failure allows."""
        attempt = self._running.pop(record.trial_id)
        self._pruned.pop(record.trial_id, None)
        self._waits_for_a_result = False
        self._budget_tracker.end(record)
        starts_again = record.failure is not None and self._start_again(attempt, record.failure)
        if self._chooser is not None and not starts_again:
            self._chooser.end(record)
        self._keep_nodes(site_names(attempt.placement, self._inventory))

    def _start_again(self, attempt: Attempt, failure: Failure) -> bool:
        """Let the trial rest, if it may start again, and then wait."""
        if self.is_stopped:
            return False
        trial_id = attempt.placement.trial_id
        self._failed[trial_id, failure.kind] += 1
        times = self._failed[trial_id, failure.kind]
        if not starts_again(failure.kind, times=times, limits=self._retry_limits):
            return False
        rest = rest_seconds(times=times, backoff_seconds=self._backoff_seconds)
        again = Attempt(placement=attempt.placement, number=attempt.number + 1)
        self._resting.append((self._clock() + rest, again))
        return True

    def _wake(self) -> None:
        """Let what has rested wait in front of all others."""
        now = self._clock()
        for due, attempt in self._resting:
            if due <= now:
                self._waiting.add_in_front(attempt)
        self._resting = [entry for entry in self._resting if entry[0] > now]

    def drop(self, attempt: Attempt) -> None:
        """Take note that an attempt was never begun."""
        self._running.pop(attempt.placement.trial_id)
        self._pruned.pop(attempt.placement.trial_id, None)
        self._budget_tracker.drop(attempt.placement)
        self._report_dropped(attempt.placement)
        self._keep_nodes(site_names(attempt.placement, self._inventory))

    def withdraw(self, pools: Collection[str]) -> tuple[Attempt, ...]:
        """Withdraw attempts that wait for pools with nodes that never become available together.

        A pool that brings none holds up all that have a part there; of several it is not known which does.
        """
        withdrawn = self._waiting.remove_all(frozenset(pools))
        for attempt in withdrawn:
            self._report_dropped(attempt.placement)
        self._keep_nodes(pools)
        return withdrawn


class _Waiting:
    """Waiting attempts in order, one line per resource request: only the first of a line can be next.

    So a step of a long sweep does not look at all that waits.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[object, ...], deque[tuple[int, Attempt]]] = {}
        self._front, self._back = -1, 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, attempt: Attempt) -> None:
        self._lines.setdefault(_demand(attempt.placement), deque()).append((self._back, attempt))
        self._back += 1

    def add_in_front(self, attempt: Attempt) -> None:
        self._lines.setdefault(_demand(attempt.placement), deque()).appendleft((self._front, attempt))
        self._front -= 1

    def first_of_each_demand(self) -> list[Attempt]:
        return [
            attempt for _, attempt in sorted((line[0] for line in self._lines.values()), key=itemgetter(0))
        ]

    def remove_first(self, placement: Placement) -> None:
        line = self._lines[_demand(placement)]
        line.popleft()
        if not line:
            del self._lines[_demand(placement)]

    def remove_all(self, pools: frozenset[str]) -> tuple[Attempt, ...]:
        """Remove all attempts that have a part in every one of the pools."""
        having = [demand for demand, line in self._lines.items() if pools <= {*line[0][1].placement.pools}]
        removed = [numbered for item in having for numbered in self._lines.pop(item)]
        return tuple(attempt for _, attempt in sorted(removed, key=itemgetter(0)))


def _demand(placement: Placement) -> tuple[object, ...]:
    """Return the key of trials with equal resource demands."""
    return (
        placement.pool,
        placement.provenance,
        placement.num_hosts,
        placement.cpus,
        placement.devices,
        placement.trial.device,
        placement.unequal,
    )
