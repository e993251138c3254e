"""The training or the test half of a data set, as a trainer sees it: samples by index."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Batch = dict[str, npt.NDArray[Any]]
"""x: float32 [sample, ...] (images [sample, height, width, channel] in [0, 1]) or int32 token ids
[sample, length]; y: int32 [sample], or token ids [sample, length], IGNORED where nothing is predicted; and
float32 [sample, ...] for each noise, under its own name."""


IGNORED = -1
"""A token id that no loss and no measure counts."""


class Split(Protocol):
    """Samples with their labels."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:
        """Return the samples at `indices`, in that order; the same for the same arguments.

        Args:
            epoch: seeds the augmentation of a training split of photographs; nothing else heeds it.
        """
        ...
