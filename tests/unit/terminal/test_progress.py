"""Progress of a sweep, counted and estimated by hand."""

import pytest
from builders import placement, record, trial_spec

from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure
from orchestrator.terminal.progress import Progress, state_of

TORCH = [placement(trial_spec(seed=seed)) for seed in range(3)]
XLA = placement(trial_spec(trainer="torch_xla"))
REHEARSAL = placement(trial_spec(device="t4"), provenance="rehearsed")
LOST = Failure(kind="worker_lost", message="rank 0 was killed")


def ended(place, *, seconds, **changes):
    return record(placement=place, started_at=0.0, ended_at=seconds, **changes)


def run(progress, place, *, seconds, **changes):
    progress.start(Attempt(placement=place, number=1))
    progress.end(ended(place, seconds=seconds, **changes))


def test_before_anything_has_ended_nothing_is_estimated():
    progress = Progress(TORCH)
    progress.start(Attempt(placement=TORCH[0], number=1))
    assert progress.seconds_left() is None
    assert progress.line() == "0 of 3 done"


def test_after_a_trial_of_30_seconds_two_more_of_its_trainer_take_60():
    progress = Progress(TORCH)
    run(progress, TORCH[0], seconds=30.0)
    assert progress.seconds_left() == 60.0
    assert progress.line() == "1 of 3 done: 1 measured; about 60 s left"


def test_a_trial_that_runs_still_counts_whole():
    progress = Progress(TORCH)
    run(progress, TORCH[0], seconds=30.0)
    progress.start(Attempt(placement=TORCH[1], number=1))
    assert list(progress.running) == [TORCH[1].trial_id]
    assert progress.seconds_left() == 60.0


def test_a_trainer_of_which_none_has_ended_takes_the_mean_of_all():
    progress = Progress([*TORCH, XLA])
    run(progress, TORCH[0], seconds=10.0)
    run(progress, TORCH[1], seconds=20.0)
    assert progress.seconds_left() == pytest.approx(15.0 + 15.0)


def test_each_trainer_takes_its_own_mean_and_a_rehearsal_is_another_kind():
    xla_again = placement(trial_spec(trainer="torch_xla", seed=1))
    rehearsal_again = placement(trial_spec(device="v100"), provenance="rehearsed")
    progress = Progress([*TORCH, XLA, xla_again, REHEARSAL, rehearsal_again])
    run(progress, TORCH[0], seconds=10.0)
    run(progress, XLA, seconds=40.0)
    run(progress, REHEARSAL, seconds=1.0)
    assert progress.seconds_left() == pytest.approx(2 * 10.0 + 40.0 + 1.0)


def test_counts_are_told_by_how_trials_ended():
    progress = Progress([*TORCH, REHEARSAL])
    run(progress, TORCH[0], seconds=400.0)
    run(progress, TORCH[1], seconds=400.0, failure=LOST)
    run(progress, REHEARSAL, seconds=1.0)
    assert progress.line() == "3 of 4 done: 1 measured, 1 rehearsed, 1 failed; about 7 min left"


def test_a_trial_that_starts_again_is_not_done():
    progress = Progress(TORCH[:1])
    run(progress, TORCH[0], seconds=5.0, failure=LOST)
    assert progress.line() == "1 of 1 done: 1 failed"
    progress.start(Attempt(placement=TORCH[0], number=2))
    assert progress.line() == "0 of 1 done; about 5 s left"
    progress.end(ended(TORCH[0], seconds=5.0))
    assert progress.line() == "1 of 1 done: 1 measured"


def test_less_than_a_second_is_not_worth_telling():
    progress = Progress(TORCH)
    run(progress, TORCH[0], seconds=0.1)
    assert progress.line() == "1 of 3 done: 1 measured"


@pytest.mark.parametrize(
    ("kept", "state"),
    [
        (record(), "measured"),
        (record(placement=REHEARSAL), "rehearsed"),
        (record(placement=REHEARSAL, failure=LOST), "failed"),
    ],
)
def test_a_record_is_measured_rehearsed_or_failed(kept, state):
    assert state_of(kept) == state
