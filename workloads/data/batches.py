"""Data sets in memory, and which samples make up which batch on which rank."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A data set and the seeded order in which it is trained on: the same for every framework and world size.

    Attributes:
        train_images, test_images: [sample, height, width, channel] float32 in [0, 1].
        train_labels, test_labels: [sample] int32.
        order: permutation of the training samples in which they are trained on.
        global_batch_size: samples per step, all replicas together.
    """

    train_images: Images
    train_labels: Labels
    test_images: Images
    test_labels: Labels
    order: npt.NDArray[np.int64]
    global_batch_size: int

    @property
    def num_batches(self) -> int:
        """Whole batches in one pass over the training samples; step i trains on batch i modulo this."""
        return len(self.train_images) // self.global_batch_size

    def shard(self, index: int, *, rank: int, world_size: int) -> tuple[Images, Labels]:
        """A rank's part of global batch `index`: contiguous, global_batch_size / world_size samples."""
        share = self.global_batch_size // world_size
        start = (index % self.num_batches) * self.global_batch_size + rank * share
        chosen = self.order[start : start + share]
        return self.train_images[chosen], self.train_labels[chosen]


def load(path: Path, *, global_batch_size: int, seed: int) -> Batches:
    """Read a prepared data set: `.npz` with x_train, y_train, x_test, y_test.

    Images in the file are uint8 [sample, height, width, channel].

    Args:
        seed: decides the order of the training samples.

    Raises:
        ValueError: a batch is larger than the training set.
    """
    with np.load(path, allow_pickle=False) as arrays:
        train_labels = arrays["y_train"].astype(np.int32)
        if global_batch_size > len(train_labels):
            raise ValueError(
                f"global_batch_size={global_batch_size} is above the {len(train_labels)} training samples"
            )
        return Batches(
            train_images=arrays["x_train"].astype(np.float32) / 255,
            train_labels=train_labels,
            test_images=arrays["x_test"].astype(np.float32) / 255,
            test_labels=arrays["y_test"].astype(np.int32),
            order=np.random.default_rng(seed).permutation(len(train_labels)),
            global_batch_size=global_batch_size,
        )
