"""Checkpoint schedule, and joint leaving of all ranks: a scheduler under its own clock."""

import pytest

from orchestrator.core.errors import TrialError
from orchestrator.train.checkpoints.format import TrainingProgress
from orchestrator.train.checkpoints.schedule import CheckpointScheduler


class Rank:
    """One of the ranks that meet; `others` are the votes that the rest cast at each meeting."""

    def __init__(self, *, decides: bool = True, others: tuple[bool, ...] = (), last_step: int = 100) -> None:
        self.now = 0.0
        self.is_told = False
        self.written: list[int] = []
        self._others = iter(others)
        self.keeper = CheckpointScheduler(
            every_seconds=10.0,
            last_step=last_step,
            write=self._write,
            is_asked_to_stop=lambda: self.is_told,
            decides=decides,
            meet=lambda vote: vote and next(self._others, True),
            clock=lambda: self.now,
            grace_seconds=20.0,
        )

    def _write(self, progress: TrainingProgress) -> None:
        self.now += 3.0
        self.written.append(progress.step)

    def look(self, step: int, *, at: float, only_if_stopped: bool = False) -> None:
        self.now = at
        made = TrainingProgress(step=step, phase="training", samples=step, training_seconds=at)
        self.keeper.look(step, lambda: made, only_if_stopped=only_if_stopped)


def test_a_checkpoint_is_due_so_long_after_the_beginning_and_after_the_last_one():
    rank = Rank()
    for step, at in ((1, 9.0), (2, 10.0), (3, 19.0), (4, 22.9), (5, 23.0)):
        rank.look(step, at=at)
    assert rank.written == [2, 5]
    assert (rank.keeper.num_written, rank.keeper.seconds) == (2, 6.0)


def test_a_look_for_stops_alone_writes_no_periodic_checkpoint():
    rank = Rank()
    rank.look(1, at=50.0, only_if_stopped=True)
    assert rank.written == []
    rank.is_told = True
    with pytest.raises(TrialError, match="after step 2"):
        rank.look(2, at=51.0, only_if_stopped=True)
    assert rank.written == [2]


def test_a_rank_that_does_not_decide_makes_one_when_the_deciding_rank_shows_it():
    rank = Rank(decides=False, others=(True, False, True, True))
    rank.look(1, at=50.0)
    rank.look(2, at=51.0)
    assert rank.written == [2]


def test_too_near_to_the_end_none_is_made():
    rank = Rank(last_step=10)
    rank.look(11, at=50.0)
    assert rank.written == []


def test_a_rank_with_a_request_to_leave_makes_a_checkpoint_at_once_and_leaves():
    rank = Rank()
    rank.is_told = True
    with pytest.raises(TrialError, match=r"^told to leave \(SIGTERM\) after step 7$") as caught:
        rank.look(7, at=1.0)
    assert caught.value.kind == "preempted"
    assert rank.written == [7]


def test_all_ranks_leave_with_the_one_that_has_a_request():
    rank = Rank(others=(False, False))
    with pytest.raises(TrialError, match="after step 7"):
        rank.look(7, at=1.0)
    assert rank.written == [7]


def test_a_rank_leaves_without_a_checkpoint_where_too_few_steps_are_left():
    rank = Rank(last_step=6)
    rank.is_told = True
    with pytest.raises(TrialError, match="after step 7"):
        rank.look(7, at=1.0)
    assert rank.written == []
