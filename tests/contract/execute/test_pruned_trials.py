"""Trials that a search ends early: the workers tell their progress, leave, and the record tells why."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from noop_trials import HERE, context, counting, inline, noop, on_ray
from process_tracking import family
from queues import queue_for
from trials import Unwatched

from orchestrator.core.placement import Placement
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.settings import Checkpointing
from orchestrator.core.trial_progress import Pruning, TrialProgress
from orchestrator.execute.executor import Executor, SweepContext
from orchestrator.execute.scheduling.queue import ObstacleOf

WHY = "slower than the leader"


class InOrder:
    """A search that starts trials in their order, and ends some after a number of timed blocks.

    Attributes:
        heard: progress by trial_id.
        ended: records of trials that ended.
    """

    def __init__(self, *placements: Placement, pruned: Placement | None, blocks: int = 2) -> None:
        self._left = [one.trial_id for one in placements]
        self._pruned = None if pruned is None else pruned.trial_id
        self._blocks = blocks
        self.heard: dict[str, list[TrialProgress]] = {one.trial_id: [] for one in placements}
        self.ended: list[TrialRecord] = []

    def next_trial(self, format_obstacle: ObstacleOf) -> str | None:
        """Choose the first that is left."""
        del format_obstacle
        return self._left[0] if self._left else None

    def start(self, trial_id: str) -> None:
        """Forget the trial."""
        self._left.remove(trial_id)

    def end(self, record: TrialRecord) -> None:
        """Keep the record."""
        self.ended.append(record)

    def drop(self, trial_id: str) -> None:
        """Refuse: no trial of these tests is dropped."""
        raise AssertionError(trial_id)

    def find_pruning(self, trial_id: str, shown: TrialProgress) -> Pruning | None:
        """End the chosen trial after its blocks."""
        self.heard[trial_id].append(shown)
        if trial_id != self._pruned or len(shown.step_seconds) < self._blocks:
            return None
        return Pruning(question="fastest", why=WHY, shown=shown)


def run(executor: Executor, told: SweepContext, *trials: Placement, search: InOrder) -> list[TrialRecord]:
    records: list[TrialRecord] = []
    queue = queue_for(trials, told, HERE, chooser=search)
    executor.run_queue(queue, told, Unwatched(), on_record=records.append)
    assert queue.is_drained
    return records


@pytest.mark.more_cases("on_ray")
@pytest.mark.parametrize("executor", [inline, on_ray])
def test_a_trial_that_cannot_win_is_ended_between_two_blocks_and_the_next_one_runs(
    executor: Callable[[], Executor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = context(tmp_path, needs_progress=True, retry_limits={"preempted": 10})
    loser, winner = noop(), noop(seed=1)
    search = InOrder(loser, winner, pruned=loser)
    with family(monkeypatch) as relatives:
        early, whole = run(executor(), told, loser, winner, search=search)
        assert not relatives.workers()
    assert early.failure == Failure(kind="pruned", message=WHY)
    assert early.result is None
    assert early.is_pruned
    assert early.pruning is not None
    assert len(early.pruning.shown.step_seconds) == 2
    assert early.pruning.shown.training_seconds > 0
    assert (whole.failure, whole.pruning) == (None, None)
    assert search.ended == [early, whole]


@pytest.mark.slow_cases("on_ray")
@pytest.mark.parametrize("executor", [inline, on_ray])
def test_a_training_reports_every_block_in_its_order(
    executor: Callable[[], Executor], tmp_path: Path
) -> None:
    told = context(tmp_path, needs_progress=True)
    trial = noop(workers=2)
    search = InOrder(trial, pruned=None)
    [record] = run(executor(), told, trial, search=search)
    assert record.result is not None
    heard = search.heard[trial.trial_id]
    assert [len(one.step_seconds) for one in heard] == list(range(1, len(record.result.block_seconds[0]) + 1))
    assert [one.steps for one in heard] == sorted(one.steps for one in heard)
    assert heard[-1].steps <= trial.trial.steps


def test_two_workers_are_ended_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = context(tmp_path, needs_progress=True)
    trial = noop(workers=2)
    with family(monkeypatch) as relatives:
        [early] = run(inline(), told, trial, search=InOrder(trial, pruned=trial, blocks=1))
        assert not relatives.workers()
    assert early.failure == Failure(kind="pruned", message=WHY)


def test_a_grid_gets_no_progress_and_prunes_no_trial(tmp_path: Path) -> None:
    trial = noop()
    search = InOrder(trial, pruned=trial)
    [record] = run(inline(), context(tmp_path), trial, search=search)
    assert record.failure is None
    assert search.heard[trial.trial_id] == []


def test_a_pruned_trial_that_is_run_to_its_end_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    kept = Checkpointing(every_seconds=300.0, grace_seconds=20.0, url=str(tmp_path / "checkpoints"))
    told = context(tmp_path, needs_progress=True, checkpointing=kept)
    trial = counting(1_000)  # near its end a trial makes no checkpoint
    [early] = run(inline(), told, trial, search=InOrder(trial, pruned=trial))
    assert early.is_pruned, early.failure
    again = replace(told, needs_progress=False, prior_attempts={early.trial_id: 1})
    [whole] = run(inline(), again, trial, search=InOrder(trial, pruned=None))
    assert (whole.failure, whole.attempt) == (None, 2)
    assert whole.result is not None
    assert whole.result.resumed_from_step > 0
