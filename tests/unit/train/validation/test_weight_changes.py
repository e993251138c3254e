"""Weights that a phase was to train and left as they were."""

import numpy as np
import pytest

from orchestrator.train.validation.weight_changes import find_unmoved, hash_arrays
from workloads.registry import workload

GAN = {"generator.0.kernel": 1.0, "generator.0.bias": 0.0, "discriminator.0.kernel": 1.0}
DBN = {"model.1.kernel": 1.0, "model.1.visible_bias": 0.0, "model.2.visible_bias": 0.0, "model.3.kernel": 1.0}


def unmoved(name: str, before: dict[str, float], **changes: float) -> tuple[str, ...]:
    """Return the parts that did not move; `changes` are the new values, with `_` for the dots of names."""
    after = {key: changes.get(key.replace(".", "_"), value) for key, value in before.items()}
    digests = [
        hash_arrays({key: np.full((2, 3), value, np.float32) for key, value in state.items()})
        for state in (before, after)
    ]
    return find_unmoved(workload(name, {}).phases, *digests)


def test_a_network_has_moved_with_a_single_bit_of_one_of_its_weights():
    moved = {"generator_0_bias": 1e-45, "discriminator_0_kernel": float(np.nextafter(np.float32(1), 2))}
    assert unmoved("mnist_gan", GAN, **moved) == ()


def test_each_network_is_looked_at():
    assert unmoved("mnist_gan", GAN, generator_0_kernel=2.0) == ("training.discriminator",)


def test_each_of_several_phases_has_weights_that_only_it_trains():
    assert unmoved("mnist_dbn", DBN, model_1_visible_bias=1.0, model_2_visible_bias=1.0) == (
        "fine_tuning.model",
    )
    assert unmoved("mnist_dbn", DBN, model_1_kernel=2.0, model_2_visible_bias=1.0, model_3_kernel=2.0) == (
        "pretraining_0.model",
    )


def test_moving_statistics_are_no_weights():
    state = {"model.0.kernel": 1.0, "model.1.moving_mean": 0.0}
    assert unmoved("mnist_cnn", state, model_1_moving_mean=1.0) == ("training.model",)


def test_a_trainer_without_weights_has_none_unmoved():
    assert unmoved("mnist_cnn", {}) == ()


@pytest.mark.parametrize("shape", [(), (0,), (3, 2)])
def test_arrays_of_any_shape_and_layout_are_taken(shape):
    array = np.zeros(shape, np.float32)
    assert hash_arrays({"a": array}) == hash_arrays({"a": np.asfortranarray(array)})


def test_a_weight_that_went_to_another_rank_has_moved():
    before = hash_arrays({"model.0.kernel": np.ones(3, np.float32)})
    assert find_unmoved(workload("mnist_cnn", {}).phases, before, {}) == ()
