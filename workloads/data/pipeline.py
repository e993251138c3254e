"""The input pipeline: threads that make the next batches while the device works on this one."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from threading import Lock

import numpy as np
import numpy.typing as npt

from workloads.data.split import Batch, Split

PREFETCHED_BATCHES = 3
"""Batches in the making or ready, beside the one that was handed out last."""

_SAMPLES_PER_TASK = 4  # few, so that all threads work on the batch that is wanted first

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Part of a batch that is to be made.

    Attributes:
        index: index of the batch.
        start: index in the batch at which the part begins.
        samples: samples of the split, in the order of the batch.
    """

    index: int
    start: int
    samples: Indices
    epoch: int

    @property
    def stop(self) -> int:
        """End of the part within the batch."""
        return self.start + len(self.samples)


class Pipeline:
    """Threads that make batches of one split in the order in which they will be asked for.

    Made without threads; `start` starts them, `close` ends them.

    Attributes:
        wait_seconds: for which `batch` has kept its callers waiting.
    """

    def __init__(self, split: Split) -> None:
        self.wait_seconds = 0.0
        self._split = split
        self._clock = _BusyClock()
        self._threads: ThreadPoolExecutor | None = None
        self._orders: Iterator[Order] = iter(())
        self._making: deque[tuple[Order, list[Future[Batch]]]] = deque()
        self._ready: tuple[Order, Batch] | None = None

    @property
    def samples_per_second(self) -> float | None:
        """Samples made in a second in which a thread was at work; None before the first one."""
        return self._clock.samples_per_second

    def start(self, orders: Iterable[Order]) -> None:
        """Begin to make batches, a few at a time; what an earlier start left unmade is dropped."""
        self.close()
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="input")
        self._orders = iter(orders)
        self._refill(self._threads)

    def change(self, find_order: Callable[[Order], Order]) -> None:
        """Make something else of what is ordered and was not handed out; nothing where nothing is made."""
        if self._threads is not None:
            self.start(map(find_order, chain([order for order, _ in self._making], self._orders)))

    def batch(self, wanted: Order) -> Batch:
        """Return an ordered batch, or a part of it, as soon as it is made; make a batch that was not ordered.

        Raises:
            ValueError: a sample cannot be read.
        """
        began = time.perf_counter()
        try:
            self._advance_to(wanted.index)
            if self._ready is not None and _holds(self._ready[0], wanted):
                return _cut(*self._ready, wanted)
            return self.take(self._split, wanted.samples, epoch=wanted.epoch)
        finally:
            self.wait_seconds += time.perf_counter() - began

    def take(self, split: Split, samples: Indices, *, epoch: int) -> Batch:
        """Samples of any split, made by the threads if there are any."""
        if self._threads is None or not len(samples):
            return split.take(samples, epoch=epoch)
        return _joined(self._parts(self._threads, split, samples, epoch))

    def close(self) -> None:
        """End the threads; what they have not begun is not made."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        self._threads, self._ready = None, None
        self._making.clear()

    def _advance_to(self, index: int) -> None:
        """Make batch `index` the ready one if it was ordered; earlier ones are dropped."""
        while self._threads is not None and self._making and self._making[0][0].index <= index:
            order, parts = self._making.popleft()
            self._refill(self._threads)
            if order.index == index:
                self._ready = (order, _joined(parts))

    def _refill(self, threads: ThreadPoolExecutor) -> None:
        while len(self._making) < PREFETCHED_BATCHES and (order := next(self._orders, None)):
            parts = self._parts(threads, self._split, order.samples, order.epoch)
            self._making.append((order, parts))

    def _parts(
        self, threads: ThreadPoolExecutor, split: Split, samples: Indices, epoch: int
    ) -> list[Future[Batch]]:
        starts = range(0, len(samples), _SAMPLES_PER_TASK)
        pieces = (samples[start : start + _SAMPLES_PER_TASK] for start in starts)
        return [threads.submit(self._make, split, piece, epoch) for piece in pieces]

    def _make(self, split: Split, samples: Indices, epoch: int) -> Batch:
        self._clock.begin()
        try:
            return split.take(samples, epoch=epoch)
        finally:
            self._clock.end(len(samples))


class _BusyClock:
    """Adds up the time in which at least one thread is at work, and what the threads make."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds = 0.0
        self._samples = 0
        self._working = 0
        self._since = 0.0

    @property
    def samples_per_second(self) -> float | None:
        with self._lock:
            return self._samples / self._seconds if self._seconds else None

    def begin(self) -> None:
        with self._lock:
            if not self._working:
                self._since = time.perf_counter()
            self._working += 1

    def end(self, samples: int) -> None:
        with self._lock:
            now = time.perf_counter()
            self._seconds += now - self._since
            self._since = now
            self._samples += samples
            self._working -= 1


def _holds(made: Order, wanted: Order) -> bool:
    return made.index == wanted.index and made.start <= wanted.start and wanted.stop <= made.stop


def _cut(made: Order, batch: Batch, wanted: Order) -> Batch:
    part = slice(wanted.start - made.start, wanted.stop - made.start)
    return {name: array[part] for name, array in batch.items()}


def _joined(parts: list[Future[Batch]]) -> Batch:
    made = [part.result() for part in parts]
    return {name: np.concatenate([part[name] for part in made]) for name in made[0]}
