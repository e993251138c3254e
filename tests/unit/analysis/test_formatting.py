"""Numbers and names as people read them."""

import pytest

from orchestrator.analysis.formatting import (
    counted,
    data_name,
    day_and_time,
    number,
    ratio,
    shared_decimals,
    spread,
)
from orchestrator.core.interval import Spread


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (6397.4, "6,397"),
        (10.02, "10.02"),
        (0.1, "0.1000"),
        (0.0, "0"),
        (1234567.8, "1,234,568"),
        (-0.5, "-0.5000"),
        (2e-7, "2.00e-07"),
        (float("nan"), "\N{EN DASH}"),
        (float("inf"), "\N{EN DASH}"),
    ],
)
def test_a_number_has_four_digits_that_count(value, shown):
    assert number(value) == shown


def test_both_ends_have_the_decimals_of_the_median():
    assert spread(Spread(median=0.01, low=0.00998, high=0.0101), factor=1000) == "10.00 [9.98, 10.10]"


def test_one_value_has_no_brackets():
    assert spread(Spread(median=6400, low=6400, high=6400)) == "6,400"


def test_a_ratio_has_two_decimals_and_its_interval_if_it_has_one():
    assert ratio(Spread(median=1.314, low=1.271, high=1.349)) == "1.31x [1.27, 1.35]"
    assert ratio(Spread(median=2, low=2, high=2)) == "2.00x"


def test_unknown_is_a_dash():
    nan = float("nan")
    assert spread(Spread(median=nan, low=nan, high=nan)) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("standin:mnist-v1:1f2e3d4c5b", "stand-in 1f2e3d4c"),
        ("real:mnist-v1:0123456789", "real 01234567"),
        ("synthetic:mnist-v1:1", "synthetic 1"),
        ("synthetic:outlines of clothes, 2", "synthetic outlines of clothes, 2"),
        ("mnist", "mnist"),
        ("", ""),
    ],
)
def test_a_name_of_data_begins_with_its_kind(data, name):
    assert data_name(data) == name


def test_one_trial_is_no_trials():
    assert (counted(1, "trial"), counted(0, "trial"), counted(2000, "trial")) == (
        "1 trial",
        "0 trials",
        "2,000 trials",
    )


def test_times_are_utc():
    assert day_and_time(1_790_000_000) == "2026-09-21 14:13 UTC"


def test_a_column_has_the_decimals_of_its_least_value_unless_it_spans_too_much():
    assert shared_decimals([0.01234, 1.5, 3.0]) == 5
    assert shared_decimals([1200.0, 64_000.0]) == 0
    assert shared_decimals([0.001, 10.0]) is None
    assert shared_decimals([]) is None
