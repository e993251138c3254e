"""Counts of published networks by name, and predictions of networks with and without them."""

from dataclasses import replace

import numpy as np
import pytest
from latency_builders import known_pair

from orchestrator.extensions.profile_transfer.models.ensemble import fit_blend
from orchestrator.extensions.profile_transfer.models.network_counts import count_outcomes, published_spec
from orchestrator.extensions.profile_transfer.models.pairs import middle_of_repeats
from workloads.traffic import num_weights


@pytest.fixture
def pair(tmp_path):
    return middle_of_repeats(known_pair(tmp_path))


def with_counts(pair, counts):
    return replace(pair, profiles=replace(pair.profiles, counts=counts))


@pytest.mark.parametrize(
    ("model", "weights"), [("MNIST_CNN", 42_442), ("CIFAR10_CNN", 1_250_858), ("ResNetSmall", 99_786)]
)
def test_the_small_networks_have_the_published_layers(model, weights):
    (network,) = published_spec(model, image_size=32).networks.values()
    assert num_weights(network) == weights


def test_a_batch_of_twice_the_size_has_twice_the_operations_and_the_same_weights():
    one, two = count_outcomes([("ResNet50", 16, 224), ("ResNet50", 32, 224)])
    assert two == pytest.approx(one * [2, 2, 1, 1, 2, 2])


def test_an_unknown_network_or_too_small_an_image_has_no_counts():
    found = count_outcomes([("NeverHeardOf", 16, 224), ("InceptionV3", 16, 32), ("VGG16", 16, np.nan)])
    assert np.isnan(found).all()


def test_an_unknown_network_is_predicted_as_if_no_network_were_known(pair):
    (fitted,) = fit_blend([pair])
    (uncounted,) = fit_blend([with_counts(pair, np.full_like(pair.profiles.counts, np.nan))])
    is_known = pair.models != "VGG16"
    mixed = with_counts(pair, np.where(is_known[:, None], pair.profiles.counts, np.nan)).profiles
    found, known, unknown = (
        blend.predict(profiles)["orchestrator"].step_seconds
        for blend, profiles in ((fitted, mixed), (fitted, pair.profiles), (uncounted, pair.profiles))
    )
    assert found[is_known] == pytest.approx(known[is_known])
    assert found[~is_known] == pytest.approx(unknown[~is_known])
    assert not np.allclose(known[~is_known], unknown[~is_known])


def test_counts_lower_the_error_where_profiles_are_alike(pair):
    """The target's time is that of its operations, of which profiles with one class of ops say nothing."""
    random = np.random.default_rng(0)
    step_seconds = random.uniform(0.01, 0.02, len(pair.models))
    alike = np.zeros_like(pair.profiles.op_seconds)
    alike[:, pair.profiles.ops.index("Device_Conv2D")] = step_seconds
    flops = random.uniform(1e9, 1e11, len(pair.models))
    counts = pair.profiles.counts * (flops / pair.profiles.counts[:, 0])[:, None]
    profiles = replace(pair.profiles, op_seconds=alike, step_seconds=step_seconds, counts=counts)
    planted = replace(pair, profiles=profiles, target_seconds=flops / 1e12)

    def error(of):
        is_test = of.models == "ResNet18"
        (fitted,) = fit_blend([of[~is_test]])
        predicted = fitted.predict(of.profiles[is_test])["orchestrator"].step_seconds
        return np.abs(np.log(predicted / of.target_seconds[is_test])).mean()

    assert error(planted) < error(with_counts(planted, np.full_like(counts, np.nan))) / 1.5
