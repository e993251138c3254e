"""Initial weights: the same bytes everywhere, with the spread that their sources ask for."""

import hashlib

import numpy as np
import pytest

from workloads.initial import initial_weights
from workloads.layers import BatchNorm, Dense, Rbm, Recurrent
from workloads.network import sequential
from workloads.registry import workload
from workloads.shapes import network_parameters

NETWORK = workload("mnist_cnn", {"filters": (4, 8), "dense_units": 32}).networks["model"]


def test_a_seed_gives_these_very_bytes_on_every_machine() -> None:
    state = initial_weights(NETWORK, 7)
    digest = hashlib.sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest()
    assert digest.startswith("089914ff59282169")


def test_another_seed_gives_other_kernels() -> None:
    one, other = initial_weights(NETWORK, 1), initial_weights(NETWORK, 2)
    assert all((one[name] != other[name]).any() for name in one if name.endswith("kernel"))


def test_every_parameter_has_its_shape_and_biases_are_zero() -> None:
    state = initial_weights(NETWORK, 0)
    assert {name: array.shape for name, array in state.items()} == network_parameters(NETWORK)
    assert all(array.dtype == np.float32 for array in state.values())
    assert not any(array.any() for name, array in state.items() if name.endswith("bias"))


def test_normalisation_starts_as_the_identity_and_a_forget_gate_open() -> None:
    network = sequential((5, 3), Recurrent(cell="lstm", units=2), BatchNorm(), Rbm(units=3), Dense(units=1))
    state = initial_weights(network, 0)
    assert state["0.forward_bias"].tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert state["1.gamma"].tolist() == state["1.moving_variance"].tolist() == [1.0] * 4
    assert not state["1.beta"].any()
    assert not state["2.visible_bias"].any()


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("3.kernel", 2 / (9 * 16)),  # He: before a ReLU, by fan-in
        ("7.kernel", 2 / 800),
        ("9.kernel", 2 / (128 + 10)),  # Glorot: the logits
    ],
)
def test_kernels_have_the_variance_of_he_before_a_relu_and_of_glorot_elsewhere(
    name: str, variance: float
) -> None:
    kernel = initial_weights(workload("mnist_cnn", {}).networks["model"], 0)[name]
    assert kernel.var() == pytest.approx(variance, rel=0.1)
    assert np.abs(kernel).max() <= np.sqrt(3 * variance) * 1.000001
