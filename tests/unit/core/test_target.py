"""Reached targets, and the record of the way to them."""

import math

import pytest
from builders import pursuit

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.trial_progress import Evaluation, TargetRun


def test_the_first_evaluation_that_is_good_enough_counts_though_later_ones_dip():
    reached = pursuit(0.5, 0.9, 0.8, 0.95).reached
    assert reached == Evaluation(steps=20, training_seconds=2.0, quality=0.9)


def test_the_first_value_low_enough_counts_of_a_metric_that_should_be_low():
    found = pursuit(1.5, 0.95, 0.89, higher_is_better=False)
    assert found.reached is not None
    assert (found.reached.steps, found.best_quality) == (30, 0.89)


@pytest.mark.parametrize(
    ("qualities", "best"), [((), None), ((math.nan,), None), ((0.1, math.nan, 0.8, 0.7), 0.8)]
)
def test_a_target_that_was_not_reached_leaves_the_best_that_was_found(qualities, best):
    found = pursuit(*qualities)
    assert (found.reached, found.best_quality) == (None, best)


def test_a_pursuit_survives_json_with_what_is_not_a_number():
    found = from_json(TargetRun, to_json(pursuit(math.nan, 0.9)))
    assert math.isnan(found.curve[0].quality)
    assert found.reached == pursuit(math.nan, 0.9).reached
