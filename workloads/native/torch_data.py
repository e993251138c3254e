"""Batches of a PyTorch job's data: for every number of workers the same samples in the same order."""

import random
import sys
import time
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from workloads.jobs import JobError, TorchJob
from workloads.native.loader_rate import measure_loader_rate
from workloads.native.torch_checks import count_samples, is_iterable, require_trainable
from workloads.native.torch_step import load_weights

MicroBatches = tuple[Any, ...]
"""The parts of a rank's batch, one after the other, as collated in host memory."""


class TorchBatches:
    """Batches of a job that is built by `load`, through PyTorch's DataLoader.

    A map-style data set is shuffled anew in every pass, by a seed that holds for all ranks. A rank has an
    equal and contiguous part of every batch.

    Args:
        build: builds the job.
        passes: micro batches that a rank's part is divided into, for a job that does not accumulate itself.
        pins: put batches into page-locked memory, from which a GPU copies faster.

    Attributes:
        staged: False, because batches are made while the training goes on.
        wait_seconds: time for which steps waited for batches.
        fills: False leaves a model empty that `fill_weights` can fill.
        num_held_out: None, because a job evaluates itself.
    """

    staged = False
    num_held_out = None

    def __init__(
        self,
        build: Callable[[], TorchJob],
        *,
        global_batch_size: int,
        seed: int,
        pins: bool = False,
        passes: int = 1,
    ) -> None:
        self._build = build
        self.global_batch_size = global_batch_size
        self._seed = seed
        self._pins = pins
        self._passes = passes
        self.wait_seconds = 0.0
        self.fills = True

    def load(self) -> TorchJob:
        """Build the job from the seed: equal weights on every rank.

        Raises:
            JobError: a job that cannot be trained, or a batch that is larger than its data set.
            Exception: any exception of the job's code.
        """
        random.seed(self._seed)
        np.random.seed(self._seed)
        torch.manual_seed(self._seed)
        self.job = self._build()
        require_trainable(self.job)
        if self.fills or self.job.iterate_weights is None:
            load_weights(self.job)
        count = self.num_train_samples
        if count is not None and self.global_batch_size > count:
            raise JobError(
                f"global_batch_size={self.global_batch_size} is above the {count} training samples"
            )
        return self.job

    @property
    def num_train_samples(self) -> int | None:
        """Number of training samples; None if the data set has no length."""
        return count_samples(self.job.data)

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Make this rank's parts of batches `first` to `last`, both included, once they are asked for."""
        self._rank, self._world_size = rank, world_size
        self._range = range(first, last + 1)
        self._steps: Iterator[MicroBatches] | None = None

    def take(self) -> MicroBatches:
        """Return this rank's part of the next batch."""
        began = time.perf_counter()
        if self._steps is None:
            self._steps = self._iterate()
        batch = next(self._steps)
        self.wait_seconds += time.perf_counter() - began
        return batch

    def measure_rate(self) -> float | None:
        """Measure the loader of this rank without a training, once that has ended."""
        self.close()
        self._range = range(sys.maxsize)
        steps = self._iterate()
        try:
            return measure_loader_rate(steps, samples=self.global_batch_size // self._world_size)
        finally:
            steps.close()

    def close(self) -> None:
        """End the loader and its processes."""
        self._steps = None

    def _iterate(self) -> Generator[MicroBatches]:
        job, parts = self.job, self.job.accumulation_steps * self._passes
        share = self.global_batch_size // self._world_size
        if share % parts:
            raise JobError(
                f"a rank's {share} samples do not divide into accumulation_steps={parts} equal parts"
            )
        source: dict[str, Any]
        if is_iterable(job.data):
            places = range(self._rank * share, (self._rank + 1) * share)
            stream = _Shares(job.data, places, self.global_batch_size, parts=parts, steps=self._range)
            source = {"dataset": stream, "batch_size": None, "collate_fn": _collator(job)}
        else:
            source = {
                "dataset": job.data,
                "batch_sampler": self._samples(share, parts),
                "collate_fn": job.collate,
            }
        loader = DataLoader(
            **source,
            num_workers=job.loader_workers,
            pin_memory=self._pins,
            generator=torch.Generator().manual_seed(self._seed),
        )
        batches = iter(loader)
        for _ in self._range:
            step = tuple(islice(batches, parts))
            if len(step) < parts:
                raise JobError("the data set ended before the training")
            yield step

    def _samples(self, share: int, parts: int) -> Iterator[list[int]]:
        """Yield the samples of every part of this rank's batches."""
        count = self.num_train_samples
        assert count is not None, "a map-style data set has a length"
        per_epoch, known = count // self.global_batch_size, (-1, np.empty(0, np.int64))
        for index in self._range:
            epoch, position = divmod(index, per_epoch)
            if known[0] != epoch:
                known = epoch, np.random.default_rng([self._seed, epoch]).permutation(count)
            start = position * self.global_batch_size + self._rank * share
            own = known[1][start : start + share]
            yield from (part.tolist() for part in np.split(own, parts))


class _Shares(IterableDataset[list[Any]]):
    """Parts of a rank's batches out of a stream that every rank reads; a stream that ends begins anew.

    With several loader processes, one makes every so-manieth part, which is the order in which a DataLoader
    asks them.
    """

    def __init__(
        self, stream: Any, places: range, global_batch_size: int, *, parts: int, steps: range
    ) -> None:
        super().__init__()
        self._stream, self._places, self._size = stream, places, global_batch_size
        self._parts, self._steps = parts, steps

    def __iter__(self) -> Iterator[list[Any]]:
        worker = get_worker_info()
        number, count = (worker.id, worker.num_workers) if worker else (0, 1)
        samples = self._endless()
        for _ in islice(samples, self._steps.start * self._size):
            pass
        made = 0
        for _ in self._steps:
            batch = list(islice(samples, self._size))
            own = batch[self._places.start : self._places.stop]
            length = len(own) // self._parts
            for part in range(self._parts):
                if made % count == number:
                    yield own[part * length : (part + 1) * length]
                made += 1

    def _endless(self) -> Iterator[Any]:
        while True:
            is_empty = True
            for sample in self._stream:
                is_empty = False
                yield sample
            if is_empty:
                raise JobError("the data set is empty")


def _collator(job: TorchJob) -> Callable[[list[Any]], Any]:
    return job.collate or torch.utils.data.default_collate
