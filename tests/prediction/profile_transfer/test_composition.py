"""Classes of ops, and a step as their composition."""

from dataclasses import replace

import numpy as np
import pytest
from latency_builders import SPEED_UPS, known_pair

from orchestrator.extensions.profile_transfer.models.composition import fit_composition
from orchestrator.extensions.profile_transfer.models.network_counts import COUNTS
from orchestrator.extensions.profile_transfer.models.op_classes import (
    OP_CLASSES,
    class_seconds,
    compute_features,
    find_op_class,
)
from orchestrator.extensions.profile_transfer.models.pairs import Profiles, middle_of_repeats


@pytest.fixture
def pair(tmp_path):
    return middle_of_repeats(known_pair(tmp_path))


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("IDLE", "idle"),
        ("_FusedConv2D", "convolution"),
        ("Conv2DBackpropFilter", "convolution_to_kernel"),
        ("Conv2DBackpropInput", "convolution_to_input"),
        ("DepthwiseConv2dNativeBackpropInput", "elementwise"),
        ("MatMul", "product"),
        ("FusedBatchNormGradV3", "normalisation"),
        ("MaxPoolGrad", "pooling"),
        ("ResourceApplyGradientDescent", "update"),
        ("_Recv", "transfer"),
        ("aten::cudnn_convolution", "convolution"),
        ("aten::mm", "product"),
        ("NeverHeardOf", "elementwise"),
    ],
)
def test_an_op_belongs_to_a_class(op, name):
    assert find_op_class(op) == name


def test_what_the_host_did_is_in_no_class():
    profiles = Profiles(
        ops=("Host_MatMul", "Device_MatMul"),
        op_seconds=np.array([[5.0, 2.0]]),
        step_seconds=np.array([4.0]),
        counts=np.array([[8.0, 4.0, 2.0, 1.0, 3.0, 12.0]]),
    )
    assert dict(zip(OP_CLASSES, class_seconds(profiles)[0], strict=True))["product"] == 2
    assert class_seconds(profiles).sum() == 2
    features = compute_features(profiles, is_counted=False)
    assert features[0, 2] == 0.5  # the busy share


def test_counts_add_the_physics_of_the_step_to_the_features_of_its_profile():
    """8 operations, 4 bytes of features, 2 of weights, 1 layer and 3 images of 4 pixels in 4 s."""
    profiles = Profiles(
        ops=("Device_MatMul",),
        op_seconds=np.array([[2.0]]),
        step_seconds=np.array([4.0]),
        counts=np.array([[8.0, 4.0, 2.0, 1.0, 3.0, 12.0]]),
    )
    alone, counted = (compute_features(profiles, is_counted=is_counted)[0] for is_counted in (False, True))
    assert np.array_equal(counted[: len(alone)], alone)
    assert np.exp(counted[len(alone) :]) == pytest.approx([2, 1, 0.5, 1e-5 / 4, 2, 8 / 6, 3, 4])


def test_a_step_that_is_a_sum_of_ops_is_taken_apart(pair):
    found = fit_composition(pair, is_counted=False)
    factors = dict(zip(OP_CLASSES, found.factors, strict=False))
    expected = [1 / speed_up for speed_up in SPEED_UPS]
    assert [factors[name] for name in ("convolution", "product", "elementwise")] == pytest.approx(
        expected, rel=0.1
    )
    assert found.step_seconds(pair.profiles) == pytest.approx(pair.target_seconds, rel=0.05)


def test_a_class_that_training_lacks_goes_at_the_middle_ratio(pair):
    half = replace(pair, target_seconds=pair.profiles.step_seconds / 2)
    found = fit_composition(half, is_counted=False)
    assert found.factors[OP_CLASSES.index("transfer")] == pytest.approx(0.5)


def test_a_step_time_that_depends_on_pixels_is_predicted_only_with_counts(pair):
    planted = replace(pair, target_seconds=pair.profiles.counts[:, COUNTS.index("pixels")] / 1e7)
    errors = [
        np.abs(found.step_seconds(planted.profiles) / planted.target_seconds - 1).mean()
        for found in (fit_composition(planted, is_counted=is_counted) for is_counted in (False, True))
    ]
    assert errors[1] < 0.05 < errors[0]
