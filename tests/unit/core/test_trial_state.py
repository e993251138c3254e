"""Permitted sequences of a trial's states."""

import itertools

import pytest

from orchestrator.core.errors import RecordError
from orchestrator.core.trial_progress import FOLLOWING, STAGES, TrialEvent, check_transition, latest_steps


def step(stage, *, trial_id="a1", attempt=1):
    return TrialEvent(trial_id=trial_id, attempt=attempt, stage=stage, at=0.0)


@pytest.mark.parametrize(
    "life",
    [
        ("queued", "starting", "running", "finished"),
        ("queued", "starting", "running", "failed", "starting", "running", "finished"),
        ("queued", "starting", "failed"),
        ("queued", "starting", "withdrawn", "queued", "starting"),
        ("queued", "starting", "running", "queued", "starting"),
        ("queued", "queued", "starting", "queued"),
    ],
)
def test_a_life_that_trials_have(life):
    for before, now in itertools.pairwise((None, *life)):
        check_transition(step(now), after=before)


@pytest.mark.parametrize(
    ("before", "now"),
    [(None, "running"), ("queued", "finished"), ("finished", "running"), ("running", "starting")],
)
def test_a_step_that_cannot_be_is_a_fault(before, now):
    with pytest.raises(RecordError, match=f"trial a1 cannot be {now} after it was {before}"):
        check_transition(step(now), after=before)


def test_after_every_stage_a_command_may_queue_the_trial():
    assert FOLLOWING.keys() == {None, *STAGES}
    assert all("queued" in after for after in FOLLOWING.values())


def test_a_stage_that_does_not_exist_is_named():
    with pytest.raises(RecordError, match="unknown stage 'dead'; known: queued, "):
        step("dead")


def test_the_latest_step_of_each_trial_stands():
    steps = [step("queued"), step("queued", trial_id="b2"), step("starting")]
    assert {each: found.stage for each, found in latest_steps(steps).items()} == {
        "a1": "starting",
        "b2": "queued",
    }
