"""Analytic operations and traffic against counts made by hand."""

import pytest

from workloads.data.need import DataNeed
from workloads.flops import forward_flops, train_step_flops, winograd_flops
from workloads.layers import Conv2d, ConvTranspose2d, Dense, DepthwiseConv2d, Flatten, Recurrent
from workloads.network import Network, sequential
from workloads.registry import workload
from workloads.spec import Adam, Optimizer, Quality, Sgd, WorkloadSpec, classifier
from workloads.traffic import num_weights, train_step_bytes


def small_network() -> Network:
    """Two 3x3 filters on a 4x4 image leave 2x2x2 values; a dense layer makes 3 of them."""
    return sequential((4, 4, 1), Conv2d(filters=2, kernel=3), Flatten(), Dense(units=3))


def small(optimizer: Optimizer | None = None, *, network: Network | None = None) -> WorkloadSpec:
    return classifier(
        "small",
        network or small_network(),
        version=1,
        optimizer=optimizer or Sgd(learning_rate=0.1),
        data=DataNeed(data_set="workloads.data.mnist:MNIST"),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=1.0),
    )


def test_two_filters_of_9_at_4_positions_and_8_times_3_weights_cost_144_plus_48() -> None:
    assert forward_flops(small_network()) == 2 * 9 * 2 * 4 + 2 * 8 * 3 == 192


def test_a_step_on_one_sample_costs_three_times_192_less_the_144_of_the_first_input_gradient() -> None:
    assert train_step_flops(small(), 1) == 3 * 192 - 144 == 432


def test_a_first_layer_needs_no_input_gradient_behind_one_that_only_flattens() -> None:
    network = sequential((2, 2, 1), Flatten(), Dense(units=3), Dense(units=5))
    assert train_step_flops(small(network=network), 1) == 2 * (2 * 4 * 3) + 3 * (2 * 3 * 5)


def test_the_default_mnist_cnn_costs_1_517_184_per_sample() -> None:
    convolutions = 2 * 9 * 1 * 16 * 26**2 + 2 * 9 * 16 * 32 * 11**2
    dense = 2 * 5 * 5 * 32 * 128 + 2 * 128 * 10
    network = workload("mnist_cnn", {}).networks["model"]
    assert forward_flops(network) == convolutions + dense == 1_517_184


def test_winograds_algorithm_shortens_convolutions_by_3x3_kernels_at_every_position() -> None:
    layers = [
        Conv2d(filters=2, kernel=3),  # on 8x8x1 values: no gradient of the first input
        Conv2d(filters=4, kernel=(3, 3), padding=1),  # on 6x6x2
        Conv2d(filters=4, kernel=3, stride=2, padding=1),
        Conv2d(filters=4, kernel=1),
        DepthwiseConv2d(kernel=3),
        Flatten(),
        Dense(units=3),
    ]
    spec = small(network=sequential((8, 8, 1), *layers))
    assert winograd_flops(spec) == 2 * (2 * 9 * 1 * 2 * 36) + 3 * (2 * 9 * 2 * 4 * 36)


def test_a_depthwise_kernel_meets_one_channel_at_each_position() -> None:
    assert forward_flops(sequential((4, 4, 5), DepthwiseConv2d(kernel=3))) == 2 * 9 * 5 * 4


def test_a_transposed_kernel_is_laid_on_each_input_position() -> None:
    network = sequential((4, 4, 5), ConvTranspose2d(filters=3, kernel=2, stride=2))
    assert forward_flops(network) == 2 * 4 * 5 * 3 * 16


def test_an_lstm_of_4_units_on_6_steps_of_3_values_multiplies_two_directions_by_7_times_16() -> None:
    assert forward_flops(sequential((6, 3), Recurrent(cell="lstm", units=4))) == 2 * 2 * (3 + 4) * 16 * 6


def test_a_gan_trains_the_generator_once_the_judge_twice_and_passes_it_once_more() -> None:
    spec = workload("mnist_gan", {})
    drawn, judged = (forward_flops(spec.networks[name]) for name in ("generator", "discriminator"))
    first_drawn, first_judged = 2 * 64 * 7 * 7 * 64, 2 * 25 * 16 * 14 * 14
    expected = (3 * drawn - first_drawn) + 2 * (3 * judged - first_judged) + 2 * judged
    assert train_step_flops(spec, 1) == expected


@pytest.mark.parametrize("global_batch_size", [2, 64, 1000])
def test_a_steps_cost_is_linear_in_the_batch(global_batch_size: int) -> None:
    assert train_step_flops(small(), global_batch_size) == global_batch_size * train_step_flops(small(), 1)


def test_20_and_27_weights_are_47() -> None:
    assert num_weights(small_network()) == (9 * 2 + 2) + (8 * 3 + 3) == 47


@pytest.mark.parametrize(
    ("optimizer", "weight_moves"),
    [
        (Sgd(learning_rate=0.1), 6),
        (Sgd(learning_rate=0.1, momentum=0.9), 8),
        (Adam(learning_rate=0.1), 10),
    ],
)
def test_a_step_moves_inputs_thrice_outputs_twice_and_weights_as_the_optimizer_does(
    optimizer: Optimizer, weight_moves: int
) -> None:
    values = (3 * 16 + 2 * 8) + (3 * 8 + 2 * 8) + (3 * 8 + 2 * 3)
    found = train_step_bytes(small(optimizer), 5, value_bytes=2)
    assert found == 5 * values * 2 + 47 * weight_moves * 4
