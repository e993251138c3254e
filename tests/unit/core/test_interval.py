"""Intervals of a median against hand-counted cases, and what holds of all of them."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.core.interval import Interval, median_interval

samples = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40)


def test_the_median_of_an_even_number_of_values_lies_between_the_middle_two():
    assert median_interval([4.0, 1.0, 2.0, 3.0]).median == 2.5


def test_six_values_cover_the_median_with_their_whole_range():
    interval = median_interval([6.0, 1.0, 5.0, 2.0, 4.0, 3.0])
    # outside only if all six lie on one side of the median: 2 of 2^6 cases
    assert interval == Interval(median=3.5, low=1.0, high=6.0, coverage=1 - 2 / 64)


def test_nine_values_lose_one_at_each_end():
    interval = median_interval([float(index) for index in range(1, 10)])
    # none or one of nine on one side of the median: 2 * (1 + 9) of 2^9 cases
    assert interval == Interval(median=5.0, low=2.0, high=8.0, coverage=1 - 20 / 512)


def test_fifteen_values_lose_three_at_each_end():
    interval = median_interval([float(index) for index in range(1, 16)])
    assert (interval.low, interval.high) == (4.0, 12.0)
    assert interval.coverage == pytest.approx(0.9648, abs=1e-4)  # table of the sign test, n = 15


def test_five_values_have_a_lower_coverage_than_asked():
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]).coverage == 1 - 2 / 32


def test_one_value_is_its_own_interval_with_a_coverage_of_0():
    assert median_interval([7.0]) == Interval(median=7.0, low=7.0, high=7.0, coverage=0.0)


def test_no_values_have_no_median():
    with pytest.raises(ValueError, match=r"^the median of no values does not exist$"):
        median_interval([])


def test_the_half_width_is_a_fraction_of_the_median():
    assert Interval(median=10.0, low=9.0, high=12.0, coverage=0.95).half_width_fraction == 0.15


def drifting(size, rng, *, correlation):
    """Normal values around 0, each correlated with its neighbour: AR(1)."""
    value, values = rng.gauss(0, 1), []
    for _ in range(size):
        values.append(value)
        value = correlation * value + math.sqrt(1 - correlation**2) * rng.gauss(0, 1)
    return values


def share_that_holds_the_median(size, *, correlation):
    rng = random.Random(1)
    intervals = [median_interval(drifting(size, rng, correlation=correlation)) for _ in range(2000)]
    return sum(interval.low <= 0 <= interval.high for interval in intervals) / len(intervals)


@pytest.mark.parametrize("size", [6, 9, 15])
def test_independent_values_are_covered_and_values_that_drift_together_are_not(size):
    assert share_that_holds_the_median(size, correlation=0) >= 0.95
    assert 0.65 < share_that_holds_the_median(size, correlation=0.7) < 0.75


@settings(max_examples=50)
@given(samples)
def test_the_median_lies_between_two_of_the_values(values):
    interval = median_interval(values)
    assert interval.low <= interval.median <= interval.high
    assert {interval.low, interval.high} <= set(values)


@settings(max_examples=50)
@given(samples)
def test_six_values_or_more_reach_the_coverage_asked_for(values):
    assert (median_interval(values).coverage >= 0.95) == (len(values) >= 6)


@settings(max_examples=50)
@given(samples, st.randoms())
def test_the_order_of_the_values_does_not_matter(values, random):
    assert median_interval(random.sample(values, len(values))) == median_interval(values)


@settings(max_examples=50)
@given(samples)
def test_doubled_values_have_a_doubled_interval(values):
    interval, doubled = median_interval(values), median_interval([2 * value for value in values])
    assert (doubled.low, doubled.median, doubled.high) == (
        2 * interval.low,
        2 * interval.median,
        2 * interval.high,
    )
    assert doubled.half_width_fraction == interval.half_width_fraction


@settings(max_examples=50)
@given(samples)
def test_more_coverage_never_makes_an_interval_narrower(values):
    wide, narrow = median_interval(values, least_coverage=0.99), median_interval(values)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high
