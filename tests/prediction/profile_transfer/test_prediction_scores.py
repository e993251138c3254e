"""Scores of methods from held-out predictions."""

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.extensions.profile_transfer.evaluation.held_out import HeldOut, with_intervals
from orchestrator.extensions.profile_transfer.evaluation.scores import (
    collect_rows,
    coverage_by_family,
    difference_over_models,
    mean_over_models,
    rank_accuracy,
    score_rows,
)
from orchestrator.extensions.profile_transfer.models.conformal import compute_quantile, compute_scale
from orchestrator.extensions.profile_transfer.models.network_counts import COUNTS
from orchestrator.extensions.profile_transfer.models.pairs import Pair, Profiles
from orchestrator.extensions.profile_transfer.models.predictor import PredictedSteps


def pair(models, *, anchor="a", target="b", here=None, there=None):
    """One row each, a second on the anchor and two on the target."""
    rows = len(models)
    return Pair(
        anchor=anchor,
        target=target,
        profiles=Profiles(
            ops=("Device_Conv2D",),
            op_seconds=np.ones((rows, 1)),
            step_seconds=np.array(here or [1.0] * rows),
            counts=np.full((rows, len(COUNTS)), np.nan),
        ),
        target_seconds=np.array(there or [2.0] * rows),
        models=np.array(models),
        families=np.array([model[0] for model in models]),
        workloads=np.array([f"{model}, batch {index}" for index, model in enumerate(models)]),
    )


def held_out(of, predicted, **changes):
    found = PredictedSteps(step_seconds=np.array(predicted, dtype=float), **changes)
    return HeldOut(method="mine", split="leave_one_model_out", pair=of, predicted=found)


def bounded(of, predicted, low, high, **changes):
    return held_out(of, predicted, low=np.array(low), high=np.array(high), **changes)


def test_errors_of_ten_and_thirty_percent_are_twenty_on_average():
    found = bounded(pair(["v1", "r1"]), [2.2, 1.4], [1.0, 1.0], [3.0, 1.5])
    score = score_rows(collect_rows([found]))
    assert (score.n, score.out_of_range) == (2, 0)
    assert score.mape.median == pytest.approx(0.2)
    assert (score.mape.low, score.mape.high) == pytest.approx((0.1, 0.3)), (
        "models are drawn, and there are two"
    )
    assert score.coverage == 0.5
    assert (score.worst_family, score.worst_coverage) == ("r", 0.0)
    assert score.width == pytest.approx(np.median([2 / 2.2, 0.5 / 1.4]))


def test_rows_of_several_pairs_count_alike():
    one = bounded(pair(["v1"]), [2.2], [0.0], [9.0])
    three = bounded(pair(["v1", "v2", "r1"]), [2.0, 2.0, 2.0], [0.0] * 3, [9.0] * 3)
    assert score_rows(collect_rows([one, three])).mape.median == pytest.approx(0.1 / 4)


def test_what_is_out_of_range_is_counted_and_judged_like_the_rest():
    known = np.array([True, False])
    found = bounded(pair(["v1", "r1"]), [2.0, 20.0], [1.0, 1.0], [3.0, 1.5], in_range=known)
    score = score_rows(collect_rows([found]))
    assert (score.n, score.out_of_range, score.coverage) == (2, 1, 0.5)
    assert score.mape.median == pytest.approx(4.5)
    assert coverage_by_family(collect_rows([found])) == {"r": 0.0, "v": 1.0}


def test_nine_sizes_in_ten_stay_within_the_quantile_and_of_few_the_largest_counts():
    assert compute_quantile(np.arange(1.0, 101.0)) == 91
    assert compute_quantile(np.array([1.0, 5.0, 3.0])) == 5


def test_an_error_is_expected_to_be_larger_far_from_training_and_in_a_short_step():
    near, far, short = compute_scale(np.array([0.1, 0.2, 0.1]), np.array([1.0, 1.0, 0.01]))
    assert far / near == pytest.approx(2**0.75)
    assert short / near == pytest.approx(100**0.1)


def test_intervals_of_a_model_come_from_the_errors_on_the_others():
    models = ["v1"] * 20 + ["r1"] * 20
    off = np.array([1.0] * 20 + [4.0] * 20)
    found = with_intervals(held_out(pair(models), 2.0 * off))
    low, high = found.predicted.low, found.predicted.high
    assert low[:20] == pytest.approx(0.5), "a factor of 4, as r1 is off"
    assert high[20:] == pytest.approx(8.0), "none, as v1 is right"
    assert score_rows(collect_rows([found])).coverage == 0.5


def test_a_method_with_intervals_keeps_them():
    found = bounded(pair(["v1", "r1"]), [2.0, 2.0], [1.0, 1.0], [3.0, 3.0])
    assert with_intervals(found) is found


def test_a_mean_over_one_model_has_no_spread_and_over_many_it_has():
    alone = mean_over_models(np.array([1.0, 3.0]), np.array(["v1", "v1"]))
    assert (alone.low, alone.median, alone.high) == (2.0, 2.0, 2.0)
    many = mean_over_models(np.arange(8.0), np.array(list("abcdefgh")))
    assert many.low < 2.5 < many.median == 3.5 < 4.5 < many.high


def test_a_difference_that_every_model_shows_has_no_spread():
    errors = np.array([0.1, 0.9, 0.4])
    found = difference_over_models(errors, errors + 0.05, ["a", "b", "c"])
    assert (found.low, found.high) == pytest.approx((-0.05, -0.05))


def three_devices(predicted_b, predicted_c):
    """Two workloads measured on `a` in 1 s, on `b` in 0.5 s and 2 s, on `c` in 2 s and 0.5 s."""
    models = ["v1", "r1"]
    return [
        held_out(pair(models, anchor=anchor, target=target, here=here, there=there), predicted)
        for anchor, target, here, there, predicted in (
            ("a", "b", [1.0, 1.0], [0.5, 2.0], predicted_b),
            ("a", "c", [1.0, 1.0], [2.0, 0.5], predicted_c),
        )
    ]


def test_the_fastest_is_named_where_predictions_have_the_right_order():
    right = rank_accuracy(three_devices([0.9, 3.0], [1.5, 0.1]), None)
    half = rank_accuracy(three_devices([0.9, 3.0], [1.5, 1.1]), None)
    assert (right.named, half.named) == (1.0, 0.5)
    assert right.always_one == 0.5


def test_the_cheapest_minds_prices_and_needs_all_of_them():
    found = three_devices([0.5, 2.0], [2.0, 0.5])
    assert rank_accuracy(found, {"a": 0.01, "b": 1.0, "c": 1.0}).always_one == 1.0
    assert rank_accuracy(found, {"a": 0.01, "b": 1.0}) is None


def test_two_devices_make_no_rank():
    assert rank_accuracy(three_devices([1.0, 1.0], [1.0, 1.0])[:1], None) is None


def test_an_anchor_that_lacks_a_target_has_no_rank():
    found = three_devices([0.5, 2.0], [2.0, 0.5])
    other = replace(found[0].pair, anchor="b", target="c")
    wrong = held_out(other, [9.0, 9.0])
    assert rank_accuracy([*found, wrong], None).named == 1.0
