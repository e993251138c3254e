"""A call within a limit: its value, its error, or the end of patience."""

import threading

import pytest

from orchestrator.record.timeout import within


def test_it_returns_what_the_call_returns():
    assert within(10.0, lambda: 7) == 7


def test_it_raises_what_the_call_raises():
    with pytest.raises(KeyError, match="odd"):
        within(10.0, lambda: {}["odd"])


def test_a_call_that_takes_too_long_is_left_to_itself():
    released = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, released.wait)
    released.set()
