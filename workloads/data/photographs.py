"""Graded photographs in a folder, decoded on access."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.data.augment import augmented
from workloads.data.fundus_image import disc_mask, read_disc
from workloads.data.split import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotographSplit:
    """Fundus photographs as squares.

    Attributes:
        files: [sample] paths.
        labels: [sample] int32.
        image_size: side of a square in pixels.
        augmentation_seed: seed of flips and colours, with epoch and sample; None for no augmentation.
    """

    files: tuple[Path, ...]
    labels: npt.NDArray[np.int32]
    image_size: int
    augmentation_seed: int | None

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.files)

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:
        """x: [sample, image_size, image_size, 3] in [0, 1], black outside the eye's disc."""
        x = np.empty((len(indices), self.image_size, self.image_size, 3), dtype=np.float32)
        for row, index in zip(x, indices, strict=True):
            row[...] = self._photograph(int(index), epoch)
        return {"x": x, "y": self.labels[indices]}

    def _photograph(self, index: int, epoch: int) -> npt.NDArray[np.float32]:
        pixels = read_disc(self.files[index], self.image_size).astype(np.float32) / np.float32(255)
        if self.augmentation_seed is None:
            return pixels
        changed = augmented(pixels, (self.augmentation_seed, epoch, index))
        return changed * disc_mask(self.image_size)[..., np.newaxis]
