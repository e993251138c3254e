"""Samples that lie in memory as one array."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.data.split import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraySplit:
    """Images of one size, or rows of features.

    Attributes:
        samples: uint8 images [sample, height, width, channel], or float32 [sample, ...], handed out as it is.
        labels: [sample] int32.
        image_size: side in pixels to which images are resized; None leaves them as they are.
    """

    samples: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    image_size: int | None

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.labels)

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:  # noqa: ARG002  nothing is augmented
        """The samples at `indices`; bytes become float32 in [0, 1]."""
        chosen = self.samples[indices]
        if self.image_size is not None:
            chosen = resized(chosen, self.image_size)
        x = chosen.astype(np.float32) / 255 if chosen.dtype == np.uint8 else chosen
        return {"x": x, "y": self.labels[indices]}


def resized(images: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Images [sample, height, width, channel] with height = width = `size`: each pixel is the nearest one."""
    rows, columns = (_nearest(size, source) for source in images.shape[1:3])
    return images[:, rows[:, np.newaxis], columns]


def _nearest(size: int, source: int) -> npt.NDArray[np.int64]:
    """Index of the source pixel under the middle of each target pixel; in integers, so equal everywhere."""
    return (2 * np.arange(size) + 1) * source // (2 * size)
