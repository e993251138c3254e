"""Which training samples make up which batch on which rank, whatever the data set is."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.data import noise as noises
from workloads.data.arrays import ArraySplit
from workloads.data.need import DataNeed, Noise
from workloads.data.split import Batch, Split

STAGED_BYTES = 512 * 2**20
"""Most bytes of inputs, all ranks together, that are put on the devices before the first step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A data set and the seeded order in which it is trained on: the same for every framework and world size.

    Attributes:
        order: training samples of one pass, in their order; when staged no more than STAGED_BYTES hold.
        global_batch_size: samples per step, all replicas together.
        noise: random inputs of each training sample.
        seed: of `order` and `noise`.
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

    @property
    def num_batches(self) -> int:
        """Whole batches in one pass, at least 1; a longer training cycles over them."""
        return len(self.order) // self.global_batch_size

    @property
    def num_held_out(self) -> int:
        """Test samples."""
        return len(self.test)

    @property
    def wait_seconds(self) -> float:
        """Seconds that `shard` has waited for the input pipeline."""
        return 0.0

    @property
    def samples_per_second(self) -> float | None:
        """Rate of the input pipeline while it was busy; None when staged."""
        return None

    def shard(self, index: int, *, rank: int, world_size: int) -> Batch:
        """A rank's part of global batch `index`: contiguous, global_batch_size / world_size samples.

        `index // num_batches` is the epoch; of staged batches there is epoch 0 alone.
        """
        epoch, position = divmod(index, self.num_batches)
        share = self.global_batch_size // world_size
        start = position * self.global_batch_size + rank * share
        chosen = self.order[start : start + share]
        batch = self.train.take(chosen, epoch=0 if self.staged else epoch)
        return batch | {each.name: noises.draw(each, chosen, seed=self.seed) for each in self.noise}

    def held_out(self, start: int, stop: int) -> Batch:
        """Test samples from `start` to before `stop`, fewer at the end of the set; without noise."""
        return self.test.take(np.arange(start, min(stop, self.num_held_out)), epoch=0)

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Begin to prepare this rank's shards of batches `first` to `last`; of no effect when staged."""

    def close(self) -> None:
        """End the input pipeline."""


def load(
    path: Path, *, data: DataNeed, global_batch_size: int, seed: int, noise: tuple[Noise, ...] = ()
) -> Batches:
    """Read a prepared data set in the form that a workload needs.

    Args:
        seed: decides the order of the training samples and their noise.

    Raises:
        ValueError: a batch is larger than the training set.
    """
    train, test = _splits(path, data)
    if global_batch_size > len(train):
        raise ValueError(f"global_batch_size={global_batch_size} is above the {len(train)} training samples")
    order = np.random.default_rng(seed).permutation(len(train))
    return Batches(
        train=train,
        test=test,
        order=order[: global_batch_size * _staged_batches(train, noise, global_batch_size)],
        global_batch_size=global_batch_size,
        noise=noise,
        seed=seed,
    )


def _splits(path: Path, data: DataNeed) -> tuple[Split, Split]:
    with np.load(path, allow_pickle=False) as arrays:
        train, test = (
            ArraySplit(
                samples=arrays[f"x_{part}"],
                labels=arrays[f"y_{part}"].astype(np.int32),
                image_size=data.image_size,
            )
            for part in ("train", "test")
        )
    return train, test


def _staged_batches(train: Split, noise: tuple[Noise, ...], global_batch_size: int) -> int:
    sample = train.take(np.zeros(1, dtype=np.int64), epoch=0)
    sample_bytes = sum(array.nbytes for array in sample.values())
    sample_bytes += sum(4 * math.prod(each.shape) for each in noise)
    return max(1, min(len(train), STAGED_BYTES // sample_bytes) // global_batch_size)
