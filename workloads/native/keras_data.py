"""Batches of a Keras job's data: for every number of workers the same samples in the same order."""

import random
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf

from workloads.jobs import JobError, KerasJob
from workloads.native.keras_step import count_samples, is_stream, require_trainable, require_weights
from workloads.native.loader_rate import measure_loader_rate


class KerasBatches:
    """Batches of a job that is built by `load`, as nested arrays.

    Arrays are shuffled anew in every pass, by a seed that holds for all processes. A process has an equal and
    contiguous part of every batch. Attributes are those of `TorchBatches`.

    Args:
        build: builds the job.
        pins: not used, because TensorFlow copies by itself.
    """

    staged = False
    num_held_out = None

    def __init__(
        self,
        build: Callable[[], KerasJob],
        *,
        global_batch_size: int,
        seed: int,
        pins: bool,  # noqa: ARG002  # documented
    ) -> None:
        self._build = build
        self.global_batch_size = global_batch_size
        self._seed = seed
        self.wait_seconds = 0.0
        self._steps: Iterator[Any] | None = None

    def load(self) -> KerasJob:
        """Build the job from the seed: equal weights in every process.

        Raises:
            JobError: a job that cannot be trained, or a batch that is larger than its data set.
            Exception: any exception of the job's code.
        """
        random.seed(self._seed)
        np.random.seed(self._seed)  # a user's code may draw from it
        tf.keras.utils.set_random_seed(self._seed)
        self.job = self._build()
        require_trainable(self.job)
        require_weights(self.job)
        samples = self.num_train_samples
        if samples is not None and self.global_batch_size > samples:
            raise JobError(
                f"global_batch_size={self.global_batch_size} is above the {samples} training samples"
            )
        return self.job

    @property
    def num_train_samples(self) -> int | None:
        """Number of training samples; None if the data have no length."""
        return count_samples(self.job.data)

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:  # noqa: ARG002  # endless
        """Make this process's parts of the batches from `first` on, once they are asked for."""
        size = self.global_batch_size // world_size
        self._share = slice(rank * size, (rank + 1) * size)
        self._first = first
        self._steps = None

    def take(self) -> Any:
        """Return this process's part of the next batch."""
        began = time.perf_counter()
        if self._steps is None:
            self._steps = self._iterate()
        batch = next(self._steps)
        self.wait_seconds += time.perf_counter() - began
        return batch

    def measure_rate(self) -> float | None:
        """Measure the data of this process without a training, once that has ended."""
        self.close()
        self._first = 0  # a stream would make all batches before it once more
        return measure_loader_rate(self._iterate(), samples=self._share.stop - self._share.start)

    def close(self) -> None:
        """Let the iterator go."""
        self._steps = None

    def _iterate(self) -> Iterator[Any]:
        return self._of_stream() if is_stream(self.job.data) else self._of_arrays()

    def _of_arrays(self) -> Iterator[Any]:
        arrays, samples = tf.nest.map_structure(np.asarray, self.job.data), self.num_train_samples
        assert samples is not None, "arrays have a length"
        per_epoch, known, order = samples // self.global_batch_size, -1, np.empty(0, np.int64)
        for index in count(self._first):
            epoch, position = divmod(index, per_epoch)
            if known != epoch:
                known, order = epoch, np.random.default_rng([self._seed, epoch]).permutation(samples)
            start = position * self.global_batch_size
            own = order[start : start + self.global_batch_size][self._share]
            yield tf.nest.map_structure(lambda array, own=own: array[own], arrays)

    def _of_stream(self) -> Iterator[Any]:
        batches = (
            self.job.data.repeat()
            .batch(self.global_batch_size, drop_remainder=True)
            .skip(self._first)
            .prefetch(tf.data.AUTOTUNE)
        )
        for batch in batches.as_numpy_iterator():
            yield tf.nest.map_structure(lambda array: array[self._share], batch)
