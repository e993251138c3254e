"""A training step of a job in Keras: its loss, and its first samples."""

from itertools import islice
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.losses import loss as keras_losses

from workloads.jobs import JobError, KerasJob

_MOST_SAMPLES = 256  # of a stream that are looked at


def compute_loss(job: KerasJob, batch: Any) -> Any:
    """Return the mean loss of a batch, with the model's own penalties.

    Raises:
        JobError: a loss that is no scalar.
    """
    if isinstance(job.loss, keras.losses.Loss):
        inputs, targets = batch
        loss = job.loss(targets, job.model(inputs, training=True))
    else:
        loss = job.loss(job.model, batch)
    loss = tf.convert_to_tensor(loss)
    if loss.shape.num_elements() != 1:
        raise JobError(f"the loss has the shape {tuple(loss.shape)}, expected one value: the mean")
    penalties = [tf.cast(penalty, loss.dtype) for penalty in job.model.losses]
    return tf.add_n([tf.reshape(loss, ()), *penalties])


def keep_losses_whole() -> None:
    """Have Keras' losses return the mean over their own samples, in this process.

    Under a distribution strategy they divide it by the number of replicas (keras 3.15), and a function that
    calls none of them does not.
    """
    keras_losses.scale_loss_for_distribution = lambda loss: loss


def require_trainable(job: KerasJob) -> None:
    """Raise JobError for a job with parts that do not fit together."""
    if not isinstance(job.model, keras.Model):
        raise JobError(f"model is a {type(job.model).__name__}, expected a keras.Model")
    if not isinstance(job.optimizer, keras.optimizers.Optimizer):
        raise JobError(
            f"optimizer is a {type(job.optimizer).__name__}, expected a keras.optimizers.Optimizer"
        )
    if not (isinstance(job.loss, keras.losses.Loss) or callable(job.loss)):
        raise JobError(f"loss is a {type(job.loss).__name__}, expected a keras.losses.Loss or a function")
    if is_stream(job.data):
        _require_one_shape(job.data)
        return
    lengths = {len(array) for array in copy_arrays(job.data)}
    if len(lengths) > 1:
        raise JobError(f"the arrays of data have {sorted(lengths)} samples, expected equally many")
    if lengths in (set(), {0}):
        raise JobError("the data set is empty")


def _require_one_shape(data: tf.data.Dataset) -> None:
    """Raise JobError for a stream with first samples of different shapes, because they make no batch."""
    specs = tf.nest.flatten(data.element_spec)
    if all(isinstance(spec, tf.TensorSpec) and spec.shape.is_fully_defined() for spec in specs):
        return
    first: list[tuple[int, ...]] = []
    for sample in islice(data.as_numpy_iterator(), _MOST_SAMPLES):
        shapes = [tuple(np.shape(array)) for array in tf.nest.flatten(sample)]
        first = first or shapes
        if shapes != first:
            raise JobError(f"samples of data have the shapes {first} and {shapes}; pad them to one shape")


def require_weights(job: KerasJob) -> None:
    """Build a model that was not built, and raise JobError if it has nothing to train."""
    if not job.model.built:
        compute_loss(job, first_batch(job, 1))
    if not job.model.trainable_variables:
        raise JobError("the model has no parameters to train")


def is_stream(data: Any) -> bool:
    """Return whether data are a `tf.data.Dataset`."""
    return isinstance(data, tf.data.Dataset)


def copy_arrays(data: Any) -> list[Any]:
    """List the arrays of data that are held in memory."""
    return [np.asarray(array) for array in tf.nest.flatten(data)]


def count_samples(data: Any) -> int | None:
    """Count the samples; None for a stream of unknown length."""
    if is_stream(data):
        count = int(data.cardinality())
        return count if count >= 0 else None
    return len(copy_arrays(data)[0])


def first_batch(job: KerasJob, size: int) -> Any:
    """Return a batch of the first samples, which are repeated in a larger batch."""
    if is_stream(job.data):
        samples = list(islice(job.data.as_numpy_iterator(), 1))
        if not samples:
            raise JobError("the data set is empty")
        return tf.nest.map_structure(lambda array: np.stack([array] * size), samples[0])
    firsts = tf.nest.map_structure(lambda array: np.asarray(array)[:1], job.data)
    return tf.nest.map_structure(lambda first: np.resize(first, (size, *first.shape[1:])), firsts)
