"""Description of a Keras job: what planning needs to know of it, found by building it once."""

import hashlib
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from workloads.jobs import KerasJob
from workloads.native.data_hash import digest_of_array
from workloads.native.description import JobDescription, compute_quality
from workloads.native.keras_cost import count_cost
from workloads.native.keras_step import (
    count_samples,
    first_batch,
    is_stream,
    require_trainable,
    require_weights,
)


def describe(build: Callable[[], KerasJob]) -> JobDescription:
    """Describe a job.

    Raises:
        JobError: a job that cannot be trained.
        Exception: any exception of the job's code.
    """
    job = build()
    require_trainable(job)
    require_weights(job)
    return JobDescription(
        data=_hash_fingerprint(job),
        train_samples=count_samples(job.data),
        quality=compute_quality(job),
        epochs=job.epochs,
        accumulation_steps=1,
        unchecked=_unchecked(job),
        cost=count_cost(job),
    )


def _hash_fingerprint(job: KerasJob) -> str:
    """Hash the number of samples, and all arrays or a stream's first sample; of random ones the number."""
    digests = [_hash_content(job) for _ in range(2)]
    samples = digests[0] if digests[0] == digests[1] else "random"
    return hashlib.sha256(f"{count_samples(job.data)} {samples}".encode()).hexdigest()[:16]


def _hash_content(job: KerasJob) -> str:
    data = first_batch(job, 1) if is_stream(job.data) else job.data
    return " ".join(digest_of_array(np.asarray(array)) for array in tf.nest.flatten(data))


def _unchecked(job: KerasJob) -> tuple[str, ...]:
    layers = list(job.model._flatten_layers())
    return tuple(
        text
        for text, holds in (
            (
                "batch normalisation is over the samples of a replica, not over the global batch",
                any(isinstance(layer, keras.layers.BatchNormalization) for layer in layers),
            ),
            (
                "dropout is drawn by every replica for itself",
                any(isinstance(layer, keras.layers.Dropout) for layer in layers),
            ),
            (
                "Keras clips the gradients of a replica, not those of the global batch",
                any((job.optimizer.clipnorm, job.optimizer.global_clipnorm, job.optimizer.clipvalue)),
            ),
            ("the order of the samples is the data set's own", is_stream(job.data)),
        )
        if holds
    )
