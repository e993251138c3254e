"""A call within a limit: its value, its error, or the end of patience."""

import threading

import pytest

from orchestrator.record.timeout import call_with_timeout


def test_it_returns_what_the_call_returns():
    assert call_with_timeout(10.0, lambda: 7) == 7


def test_it_raises_what_the_call_raises():
    with pytest.raises(KeyError, match="odd"):
        call_with_timeout(10.0, lambda: {}["odd"])


def test_a_call_that_takes_too_long_is_left_to_itself():
    released = threading.Event()
    with pytest.raises(TimeoutError):
        call_with_timeout(0.01, released.wait)
    released.set()
