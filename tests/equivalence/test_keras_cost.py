"""FLOPs and samples of Keras jobs, counted in the traced graph, against counts made by hand."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from workloads.flops import train_step_flops, winograd_flops
from workloads.jobs import JobError, KerasJob
from workloads.native.keras_cost import count_cost
from workloads.native.keras_data import KerasBatches
from workloads.native.keras_step import require_weights
from workloads.registry import workload
from workloads.spec import JobCost, WorkloadSpec
from workloads.with_keras.network import build


def cost(model: Any, inputs: Any, *, loss: Callable[[Any, Any], Any] | None = None) -> JobCost:
    job = KerasJob(
        model=model,
        loss=loss or (lambda model, batch: tf.reduce_mean(tf.square(model(batch[0], training=True)))),
        optimizer=keras.optimizers.Adam(),
        data=(inputs,),
    )
    require_weights(job)
    return count_cost(job)


def test_a_dense_layer_costs_two_products_and_no_gradient_of_the_input() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    found = cost(model, np.zeros((8, 4), np.float32))
    assert (found.flops_per_sample, found.flops_per_step, found.num_weights) == (2 * 2 * 4 * 3, 0, 15)


@pytest.mark.slow_cases("mobilenet_v2")
@pytest.mark.parametrize("name", ["mnist_cnn", "mobilenet_v2"])
def test_a_declared_network_costs_what_it_is_declared_to_cost(name: str) -> None:
    spec = workload(name, {})
    assert isinstance(spec, WorkloadSpec)
    network = spec.networks["model"]
    found = cost(build(network, seed=0), np.zeros((4, *network.input_shape), np.float32))
    assert found.step_flops(64) == pytest.approx(train_step_flops(spec, 64), rel=1e-12)
    assert found.winograd_flops_per_sample == pytest.approx(winograd_flops(spec), rel=1e-12)


def test_a_recurrent_layer_costs_its_products_at_every_step() -> None:
    steps, inputs, units = 10, 8, 16
    model = keras.Sequential([keras.Input((steps, inputs)), keras.layers.LSTM(units)])
    found = cost(model, np.zeros((4, steps, inputs), np.float32))
    forward = 2 * steps * 4 * units * (inputs + units)
    assert 2 * forward < found.flops_per_sample <= 3 * forward
    assert (found.time_steps, found.recurrent_bytes) == (steps, 0.0)


def test_directions_and_layers_are_loops_of_their_own() -> None:
    """TensorFlow runs them one after the other."""
    layers = [keras.layers.GRU(16, return_sequences=True), keras.layers.Bidirectional(keras.layers.LSTM(8))]
    found = cost(keras.Sequential([keras.Input((10, 8)), *layers]), np.zeros((4, 10, 8), np.float32))
    assert found.time_steps == 3 * 10


def test_a_network_without_loops_has_no_time_steps() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    assert cost(model, np.zeros((8, 4), np.float32)).time_steps == 0


def test_attention_costs_its_projections_and_two_products_of_the_length() -> None:
    length, units = 10, 64
    entry = keras.Input((length, units))
    first = keras.layers.Dense(units)(entry)
    model = keras.Model(entry, keras.layers.MultiHeadAttention(4, units // 4)(first, first))
    found = cost(model, np.zeros((4, length, units), np.float32))
    forward = 2 * length * 4 * units * units + 2 * 2 * length * length * units
    assert found.flops_per_sample == 3 * forward + 2 * (2 * length * units * units)


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (lambda model, batch: model(batch[0])[:, 0], r"the loss has the shape \(2,\), expected one value"),
        (lambda _, batch: tf.reduce_sum(batch[0]), "the loss does not depend on a parameter of the model"),
    ],
)
def test_a_loss_that_cannot_be_trained_is_named(loss: Any, reason: str) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    with pytest.raises(JobError, match=reason):
        cost(model, np.zeros((8, 4), np.float32), loss=loss)


def batches(data: Any, *, rank: int = 0, world_size: int = 1, first: int = 0) -> list[list[int]]:
    model = keras.Sequential([keras.Input(()), keras.layers.Reshape((1,)), keras.layers.Dense(1)])
    job = KerasJob(
        model=model, loss=keras.losses.MeanSquaredError(), optimizer=keras.optimizers.SGD(), data=data
    )
    source = KerasBatches(lambda: job, global_batch_size=8, seed=3, pins=False)
    source.load()
    source.start(rank=rank, world_size=world_size, first=first, last=11)
    return [source.take()[0].astype(int).tolist() for _ in range(first, 12)]


def numbers() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(50, dtype=np.float32), np.zeros(50, np.float32)


@pytest.mark.parametrize("kind", ["arrays", "stream"])
def test_two_processes_get_together_what_one_gets_and_go_on_where_they_were(kind: str) -> None:
    data = numbers() if kind == "arrays" else tf.data.Dataset.from_tensor_slices(numbers())
    alone = batches(data)
    ranks = [batches(data, rank=rank, world_size=2) for rank in range(2)]
    assert [left + right for left, right in zip(*ranks, strict=True)] == alone
    assert batches(data, first=5) == alone[5:]
