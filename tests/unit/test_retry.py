"""Which failures start a trial again, and how often."""

import pytest

from orchestrator.execute.retry import starts_again

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


def test_a_failure_without_a_limit_is_final():
    assert not starts_again("diverged", times=1, limits=_LIMITS)
