"""The rate of a Keras job's data, measured after its training."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from workloads.jobs import JobError, KerasJob
from workloads.native.keras_data import KerasBatches
from workloads.native.keras_step import require_trainable

BATCH = 8
SAMPLE_SECONDS = 0.005


def batches(data: object, *, rank: int = 0, world_size: int = 1, first: int = 0) -> KerasBatches:
    """Return batches of which the process took the first one, as a training does."""
    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
    job = KerasJob(
        model=model, loss=tf.keras.losses.MeanSquaredError(), optimizer=tf.keras.optimizers.SGD(), data=data
    )
    source = KerasBatches(lambda: job, global_batch_size=BATCH, seed=3, pins=False)
    source.load()
    source.start(rank=rank, world_size=world_size, first=first, last=first + 1)
    return source


def stream(*, fails_at: int | None = None) -> object:
    """A `tf.data.Dataset` that takes 5 ms a sample."""

    def samples() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for index in range(100_000):
            time.sleep(SAMPLE_SECONDS)
            if index == fails_at:
                raise OSError(f"sample {index} is gone")
            yield np.zeros(2, np.float32), np.zeros(1, np.float32)

    shapes = (tf.TensorSpec((2,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return tf.data.Dataset.from_generator(samples, output_signature=shapes)


@pytest.mark.parametrize("world_size", [1, 2])
def test_the_rate_of_a_stream_is_measured_after_a_training(world_size: int) -> None:
    source = batches(stream(), world_size=world_size)
    source.take()
    rate = source.measure_rate()
    assert rate is not None
    assert 20 / world_size < rate <= 1.2 / SAMPLE_SECONDS / world_size, "200 samples a second at most"


def test_the_rate_after_a_resumed_training_does_not_wait_for_the_batches_before_it() -> None:
    source = batches(stream(), first=1000)
    began = time.monotonic()
    assert source.measure_rate() is not None
    assert time.monotonic() - began < 1000 * BATCH * SAMPLE_SECONDS


def test_arrays_have_a_rate_too() -> None:
    source = batches((np.zeros((64, 2), np.float32), np.zeros((64, 1), np.float32)))
    source.take()
    rate = source.measure_rate()
    assert rate is not None
    assert rate > 1 / SAMPLE_SECONDS


def test_a_stream_that_fails_has_no_rate() -> None:
    assert batches(stream(fails_at=20)).measure_rate() is None


def test_a_stream_of_samples_of_unequal_shape_is_refused() -> None:
    def samples() -> Iterator[np.ndarray]:
        for length in (16, 16, 512):
            yield np.zeros((length, 2), np.float32)

    def job(shape: tuple[int | None, ...]) -> KerasJob:
        model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
        data = tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec(shape, tf.float32))
        return KerasJob(model=model, loss=print, optimizer=tf.keras.optimizers.SGD(), data=data)

    with pytest.raises(JobError, match=r"shapes \[\(16, 2\)\] and \[\(512, 2\)\]; pad them to one shape"):
        require_trainable(job((None, 2)))
    require_trainable(job((16, 2)))
