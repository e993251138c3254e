"""Failures that start a trial again, how often, and which keep its checkpoints."""

import pytest
from builders import record

from orchestrator.core.errors import FAILURE_KINDS
from orchestrator.core.result import Failure
from orchestrator.execute.scheduling.retry import may_go_on, rest_seconds, starts_again

_LIMITS = {"preempted": 10, "worker_lost": 1, "oom": 0}


@pytest.mark.parametrize(
    ("kind", "times", "again"),
    [
        ("worker_lost", 1, True),
        ("worker_lost", 2, False),
        ("preempted", 10, True),
        ("preempted", 11, False),
        ("oom", 1, False),
    ],
)
def test_a_trial_starts_again_as_often_as_its_failure_allows(kind, times, again):
    assert starts_again(kind, times=times, limits=_LIMITS) is again


@pytest.mark.parametrize(("times", "seconds"), [(1, 2.0), (2, 4.0), (5, 32.0), (10, 600.0), (2000, 600.0)])
def test_a_trial_rests_twice_as_long_each_time_and_ten_minutes_at_most(times, seconds):
    assert rest_seconds(times=times, backoff_seconds=2.0) == seconds


def test_a_failure_without_a_limit_is_final():
    assert not starts_again("diverged", times=1, limits=_LIMITS)


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_another_attempt_may_resume_unless_the_failure_discredits_the_training(kind):
    is_unsound = kind in ("diverged", "device_mismatch", "invalid_measurement", "error")
    assert may_go_on(record(failure=Failure(kind=kind, message=""))) is not is_unsound


def test_a_trial_that_has_its_result_needs_no_other_attempt():
    assert not may_go_on(record())
