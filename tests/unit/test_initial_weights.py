"""Initial weights: the same bytes everywhere, with the spread that their sources ask for."""

import hashlib

import numpy as np
import pytest

from workloads.initial import initial_weights
from workloads.registry import workload
from workloads.shapes import kernel_shapes_of

SPEC = workload("mnist_cnn", {"filters": (4, 8), "dense_units": 32})


def test_a_seed_gives_these_very_bytes_on_every_machine() -> None:
    state = initial_weights(SPEC, 7)
    digest = hashlib.sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest()
    assert digest.startswith("089914ff59282169")


def test_another_seed_gives_other_kernels() -> None:
    one, other = initial_weights(SPEC, 1), initial_weights(SPEC, 2)
    assert all((one[f"{index}.kernel"] != other[f"{index}.kernel"]).any() for index in kernel_shapes_of(SPEC))


def test_there_is_a_kernel_and_a_zero_bias_for_each_layer_with_weights() -> None:
    state = initial_weights(SPEC, 0)
    for index, shape in kernel_shapes_of(SPEC).items():
        assert state.pop(f"{index}.kernel").shape == shape
        bias = state.pop(f"{index}.bias")
        assert bias.shape == shape[-1:]
        assert not bias.any()
        assert bias.dtype == np.float32
    assert not state


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("2.kernel", 2 / (9 * 16)),  # He: before a ReLU, by fan-in
        ("5.kernel", 2 / 800),
        ("6.kernel", 2 / (128 + 10)),  # Glorot: the logits
    ],
)
def test_kernels_have_the_variance_of_he_before_a_relu_and_of_glorot_elsewhere(
    name: str, variance: float
) -> None:
    kernel = initial_weights(workload("mnist_cnn", {}), 0)[name]
    assert kernel.var() == pytest.approx(variance, rel=0.1)
    assert np.abs(kernel).max() <= np.sqrt(3 * variance) * 1.000001
