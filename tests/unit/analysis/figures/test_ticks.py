"""Ticks of logarithmic axes lie within the ends, are few, and are round."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.figures.ticks import log_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 1000, [1, 10, 100, 1000]),
        (4000, 130_000, [10_000, 30_000, 100_000]),
        (0.9, 11, [1, 3, 10]),
        (95, 104, [96, 98, 100, 102, 104]),
        (5, 5, [5]),
    ],
)
def test_ticks_are_digits_of_decades_or_round_steps(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)


@given(st.floats(1e-9, 1e12), st.floats(1, 1e9))
def test_ticks_lie_within_the_ends_and_are_few(low, ratio):
    ticks = log_ticks(low, low * ratio)
    assert 1 <= len(ticks) <= 7 or math.isclose(ratio, 1)
    assert all(low * (1 - 1e-9) <= tick <= low * ratio * (1 + 1e-9) for tick in ticks)
    assert ticks == sorted(set(ticks))
