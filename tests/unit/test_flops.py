"""Analytic operations against counts made by hand."""

from dataclasses import replace

import pytest

from workloads.flops import forward_flops, train_step_flops
from workloads.registry import workload
from workloads.spec import Conv2d, Dense, Flatten, WorkloadSpec


def small() -> WorkloadSpec:
    """Two 3x3 filters on a 4x4 image leave 2x2x2 values; a dense layer makes 3 of them."""
    layers = (Conv2d(filters=2, kernel=3, activation="relu"), Flatten(), Dense(units=3))
    return replace(workload("mnist_cnn", {}), layers=layers, input_shape=(4, 4, 1), num_classes=3)


def test_two_filters_of_9_at_4_positions_and_8_times_3_weights_cost_144_plus_48() -> None:
    assert forward_flops(small()) == 2 * 9 * 2 * 4 + 2 * 8 * 3 == 192


def test_a_step_on_one_sample_costs_three_times_192_less_the_144_of_the_first_input_gradient() -> None:
    assert train_step_flops(small(), 1) == 3 * 192 - 144 == 432


def test_the_default_mnist_cnn_costs_1_517_184_per_sample() -> None:
    convolutions = 2 * 9 * 1 * 16 * 26**2 + 2 * 9 * 16 * 32 * 11**2
    dense = 2 * 5 * 5 * 32 * 128 + 2 * 128 * 10
    assert forward_flops(workload("mnist_cnn", {})) == convolutions + dense == 1_517_184


@pytest.mark.parametrize("global_batch_size", [2, 64, 1000])
def test_a_steps_cost_is_linear_in_the_batch(global_batch_size: int) -> None:
    assert train_step_flops(small(), global_batch_size) == global_batch_size * train_step_flops(small(), 1)
