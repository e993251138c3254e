"""Running text as windows of token ids, with a token to predict at every step or at masked ones."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workloads.data.split import IGNORED, Batch
from workloads.data.words import FIRST_WORD, PAD, UNKNOWN

MASKED_SHARE = 0.15
"""Share of a window's steps that are masked: Devlin et al. 2019, "BERT", section 3.1, as the shares below."""

_MASK_SHARE, _RANDOM_SHARE = 0.8, 0.1
"""Shares of the masked steps that show the mask, and a random token; others are unchanged."""

Ids = npt.NDArray[np.uint16]
Rows = npt.NDArray[np.int32]


def running_text(ids: Ids, lengths: npt.NDArray[np.int32]) -> Ids:
    """Return all texts one after another, with PAD behind each."""
    return np.insert(ids, np.cumsum(lengths, dtype=np.int64), PAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSplit:
    """Windows of a running text.

    Attributes:
        ids: [token].
        vocabulary: larger ids are handed out as UNKNOWN.
        length: steps of a window; windows do not overlap.
        is_masked: True: `y` is the hidden token of every masked step, and IGNORED elsewhere; the last id of
            the vocabulary is the mask. False: `y` is the next token of every step.
        seed: seed of the masks.
    """

    ids: Ids
    vocabulary: int
    length: int
    is_masked: bool
    seed: int

    def __post_init__(self) -> None:
        if not len(self):
            raise ValueError(
                f"the running text has {len(self.ids):,} tokens, "
                f"and sequence_length={self.length} needs one more"
            )

    def __len__(self) -> int:
        """Number of windows that have a token behind them."""
        return (len(self.ids) - 1) // self.length

    def take(self, indices: npt.NDArray[np.int64], *, epoch: int) -> Batch:  # noqa: ARG002  masks stay
        """x, y: [sample, length] int32."""
        places = indices[:, None] * self.length + np.arange(self.length + 1)
        rows = self.ids[places].astype(np.int32)
        rows[rows >= self.vocabulary - self.is_masked] = UNKNOWN
        if not self.is_masked:
            return {"x": rows[:, :-1], "y": rows[:, 1:]}
        return self._masked(rows[:, :-1], indices)

    def _masked(self, rows: Rows, indices: npt.NDArray[np.int64]) -> Batch:
        shown, hidden = rows.copy(), np.full_like(rows, IGNORED)
        count = max(1, round(MASKED_SHARE * self.length))
        for row, index in enumerate(indices):
            random = np.random.default_rng((self.seed, int(index)))
            places = random.choice(self.length, count, replace=False)
            hidden[row, places] = rows[row, places]
            fate = random.random(count)
            shown[row, places[fate < _MASK_SHARE]] = self.vocabulary - 1
            drawn = places[fate >= 1 - _RANDOM_SHARE]
            shown[row, drawn] = random.integers(FIRST_WORD, self.vocabulary - 1, len(drawn))
        return {"x": shown, "y": hidden}
