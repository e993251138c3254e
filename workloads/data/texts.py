"""Texts of any length as rows of token ids of one length."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workloads.data.split import Batch
from workloads.data.words import PAD, UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSplit:
    """Texts that lie in memory one after another.

    Attributes:
        ids: [token] of all texts.
        ends: [sample] where each text ends in `ids`.
        labels: [sample] int32.
        vocabulary: ids from here on are handed out as UNKNOWN.
        length: tokens of a row: the last ones of a longer text; a shorter one comes after padding, so that
            what a network read last is always text.
    """

    ids: npt.NDArray[np.uint16]
    ends: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    vocabulary: int
    length: int

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.labels)

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:  # noqa: ARG002  nothing is augmented
        """x: [sample, length] int32."""
        x = np.full((len(indices), self.length), PAD, dtype=np.int32)
        for row, index in zip(x, indices, strict=True):
            end = self.ends[index]
            start = max(self.ends[index - 1] if index else 0, end - self.length)
            row[self.length - (end - start) :] = self.ids[start:end]
        x[x >= self.vocabulary] = UNKNOWN
        return {"x": x, "y": self.labels[indices]}
