"""Pairs of devices, what is held out of them, and predictions of what was held out."""

from dataclasses import replace

import numpy as np
import pytest
from latency_builders import FAST, SLOW, both_ways, known_pair, schema_frame

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.evaluation.held_out import (
    BY_FAMILY,
    BY_MODEL,
    held_out_predictions,
    split_folds,
)
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.models.pairs import find_pairs, middle_of_repeats, some_repeats
from orchestrator.extensions.profile_transfer.models.predictor import (
    PredictedSteps,
    fit_log_quadratic,
    fit_ratio,
)

WORKLOADS = 6 * 2 * 2


@pytest.fixture
def pair(tmp_path):
    return known_pair(tmp_path)


def test_a_table_has_every_ordered_pair_of_its_profiled_devices(tmp_path):
    pairs = find_pairs(both_ways(tmp_path))
    assert [(pair.anchor, pair.target) for pair in pairs] == [(SLOW, FAST), (FAST, SLOW)]
    assert {len(pair.models) for pair in pairs} == {2 * WORKLOADS}


def test_a_single_device_makes_no_pair(tmp_path):
    schema_frame().to_csv(tmp_path / "mine.csv")
    with pytest.raises(ConfigError, match="unknown column 'Unnamed: 0'"):
        read_latencies(tmp_path)
    schema_frame().to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(
        ConfigError, match="shares a workload with another one; devices: t4; with op times: t4"
    ):
        find_pairs(read_latencies(tmp_path))


def test_repeats_become_their_median_or_the_first_of_them(pair):
    pair = replace(pair, target_seconds=np.repeat((0.010, 0.014), WORKLOADS))  # the first repeat, the second
    middle, first = middle_of_repeats(pair), some_repeats(pair, most=1)
    for each, seconds in ((middle, 0.012), (first, 0.010)):
        assert len(each.models) == WORKLOADS
        assert each.target_seconds[each.workloads == "VGG16, batch 16, 64 pixels"] == pytest.approx(seconds)
    assert len(some_repeats(pair, most=5).models) == 2 * WORKLOADS


def test_each_model_is_tested_once_and_its_family_is_held_out_with_it(pair):
    folds = split_folds(pair)
    assert sorted(len(item.held_out) for item in folds[BY_MODEL]) == [1] * 6
    assert {fold.held_out for fold in folds[BY_FAMILY]} == {
        frozenset({"VGG11", "VGG16"}),
        frozenset({"ResNet18", "ResNet50"}),
        frozenset({"AlexNet"}),
        frozenset({"LeNet5"}),
    }


def test_a_single_family_cannot_be_held_out(pair):
    folds = split_folds(pair[np.isin(pair.models, ["VGG11", "VGG16"])])
    assert len(folds[BY_MODEL]) == 2
    assert folds[BY_FAMILY] == ()


class Recall:
    """Predicts the middle latency of what it was fitted to, and knows nothing else."""

    def __init__(self, training):
        self.models = set(training.models)
        self.middle = float(np.median(training.target_seconds))

    def predict(self, profiles):
        return {"recall": PredictedSteps(step_seconds=np.full(len(profiles.step_seconds), self.middle))}


def test_a_held_out_model_or_family_is_not_in_the_training_data(pair):
    trainings = []

    def fit(parts):
        trainings.extend(set(part.models) for part in parts)
        return [Recall(part) for part in parts]

    by_model, by_family = held_out_predictions(pair, fit)
    assert (by_model.split, by_family.split) == (BY_MODEL, BY_FAMILY)
    everything = set(pair.models)
    assert sorted(len(everything - training) for training in trainings) == [1] * 6 + [2] * 2
    for model in everything:
        others = np.median(pair.target_seconds[pair.models != model])
        assert np.all(by_model.predicted.step_seconds[pair.models == model] == others)


def test_predictions_do_not_mind_the_order_of_rows(pair):
    order = np.random.default_rng(0).permutation(len(pair.models))
    for fit in (fit_ratio, fit_log_quadratic):
        straight, shuffled = (held_out_predictions(value, fit)[0] for value in (pair, pair[order]))
        assert np.allclose(straight.predicted.step_seconds[order], shuffled.predicted.step_seconds)


def test_twice_as_slow_is_a_ratio_of_two_and_needs_no_curve(pair):
    pair = replace(pair, target_seconds=2 * pair.profiles.step_seconds)
    (ratio,), (curve,) = fit_ratio([pair]), fit_log_quadratic([pair])
    assert ratio.factor == 2
    assert np.allclose(curve.predict(pair.profiles)["log_quadratic"].step_seconds, pair.target_seconds)
