"""Assignment of training samples to batches and ranks, independent of the data set."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.data.need import DataNeed, Noise
from workloads.data.noise import describe_noise
from workloads.data.pipeline import Order, Pipeline
from workloads.data.split import Batch, Split
from workloads.data.splits import read_splits

STAGED_BYTES = 512 * 2**20
"""Most bytes of inputs, all ranks together, that are put on the devices before the first step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A data set and the seeded order in which it is trained on: the same for every framework and world size.

    Attributes:
        order: order of the training samples; when staged, no more of them than STAGED_BYTES hold.
        global_batch_size: samples per step, all replicas together.
        noise: random inputs of each training sample.
        seed: seed of `order` and `noise`.
        staged: True: small enough for the device, which holds all batches of a pass before the first step.
            False: samples come through the input pipeline while training goes on.
    """

    train: Split
    test: Split
    order: npt.NDArray[np.int64]
    global_batch_size: int
    noise: tuple[Noise, ...] = ()
    seed: int = 0
    staged: bool = True
    _pipeline: Pipeline = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pipeline", Pipeline(self.train))

    @property
    def num_batches(self) -> int:
        """Whole batches in one pass, at least 1; a longer training cycles over them."""
        return len(self.order) // self.global_batch_size

    @property
    def num_train_samples(self) -> int:
        """Training samples."""
        return len(self.train)

    @property
    def num_held_out(self) -> int:
        """Test samples."""
        return len(self.test)

    @property
    def wait_seconds(self) -> float:
        """Seconds that steps waited for samples and for their copies to the device; 0 when staged."""
        return self._pipeline.wait_seconds

    def add_wait(self, seconds: float) -> None:
        """Add time for which a step waited for the copy of a batch to its device."""
        self._pipeline.wait_seconds += seconds

    def measure_rate(self) -> float | None:
        """Return the samples that the pipeline made in a second in which it was at work; None when staged."""
        return self._pipeline.samples_per_second

    def shard(self, index: int, *, rank: int, world_size: int) -> Batch:
        """Return a rank's part of global batch `index`, if all are equal: as `part` of its `find_share`."""
        return self.part(index, self.find_share(rank, world_size))

    def find_share(self, rank: int, world_size: int) -> range:
        """Samples of each global batch that belong to one rank: global_batch_size / world_size of them."""
        size = self.global_batch_size // world_size
        return range(rank * size, (rank + 1) * size)

    def part(self, index: int, places: range) -> Batch:
        """Samples of global batch `index` by their places in it.

        `index // num_batches` is the epoch; of staged batches there is epoch 0 alone. When not staged, it
        waits for the input pipeline if that has been started with this part or a larger one.

        Raises:
            ValueError: a sample cannot be read.
        """
        wanted = self._find_order(index, places)
        take = self._take_staged if self.staged else self._pipeline.batch
        return take(wanted) | self._drawn(wanted.samples)

    def held_out(self, start: int, stop: int) -> Batch:
        """Test samples from `start` to before `stop`, fewer at the end of the set.

        Their noise is no training sample's.
        """
        chosen = np.arange(start, min(stop, self.num_held_out))
        return self._pipeline.take(self.test, chosen, epoch=0) | self._drawn(len(self.train) + chosen)

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Begin to make this rank's shards of batches `first` to `last`, both included.

        To be asked for in that order; a process with several replicas starts the part of all of them.
        When staged there is nothing to begin.
        """
        if not self.staged:
            indices = range(first, last + 1)
            places = self.find_share(rank, world_size)
            self._pipeline.start(self._find_order(index, places) for index in indices)

    def restart(self, places: range) -> None:
        """Make this part instead of the current one, from the first batch that was not taken yet."""
        self._pipeline.change(lambda order: self._find_order(order.index, places))

    def close(self) -> None:
        """End the input pipeline; what `shard` is asked for later it makes itself."""
        self._pipeline.close()

    def _take_staged(self, wanted: Order) -> Batch:
        return self.train.take(wanted.samples, epoch=0)

    def _drawn(self, samples: npt.NDArray[np.int64]) -> Batch:
        return {noise.name: describe_noise(noise, samples, seed=self.seed) for noise in self.noise}

    def _find_order(self, index: int, places: range) -> Order:
        epoch, position = divmod(index, self.num_batches)
        first = position * self.global_batch_size
        samples = self.order[first + places.start : first + places.stop]
        return Order(index=index, start=places.start, samples=samples, epoch=epoch)


def load(
    path: Path, *, data: DataNeed, global_batch_size: int, seed: int, noise: tuple[Noise, ...] = ()
) -> Batches:
    """Read a prepared data set in the form that a workload needs.

    Args:
        seed: decides the order of the training samples, their noise and their augmentation.

    Raises:
        ValueError: a batch is larger than the training set, or `data` lacks what this kind of data needs.
    """
    train, test, staged = read_splits(path, data, seed=seed)
    if global_batch_size > len(train):
        raise ValueError(f"global_batch_size={global_batch_size} is above the {len(train)} training samples")
    order = np.random.default_rng(seed).permutation(len(train))
    if staged:
        order = order[: max(global_batch_size, STAGED_BYTES // _sample_bytes(train, noise))]
    return Batches(
        train=train,
        test=test,
        order=order,
        global_batch_size=global_batch_size,
        noise=noise,
        seed=seed,
        staged=staged,
    )


def _sample_bytes(train: Split, noise: tuple[Noise, ...]) -> int:
    sample = train.take(np.zeros(1, dtype=np.int64), epoch=0)
    return sum(array.nbytes for array in sample.values()) + sum(
        4 * math.prod(source.shape) for source in noise
    )
