"""The one tokenizer: texts as token ids that are the same for every framework."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays

PAD, UNKNOWN, FIRST_WORD = 0, 1, 2
"""Token ids: of nothing, of any word outside the vocabulary, of the most frequent word."""

MOST_IDS = 2**16
"""Two bytes hold an id; the rarest words beyond are unknown."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")

Text = Sequence[str]
"""Words."""


def format_words(text: str) -> list[str]:
    """Lower-case words of letters, with apostrophes inside; everything else parts words."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def build_vocabulary(texts: Iterable[Text]) -> dict[str, int]:
    """Word -> id, by how often a word occurs in `texts`, equals by the alphabet."""
    counts = Counter(word for text in texts for word in text)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: FIRST_WORD + rank for rank, word in enumerate(ranked[: MOST_IDS - FIRST_WORD])}


def tokenized(train: Sequence[tuple[str, int]], test: Sequence[tuple[str, int]]) -> Arrays:
    """A data set of (text, label) pairs; the vocabulary is that of the training half alone."""
    texts = {
        "train": [format_words(text) for text, _ in train],
        "test": [format_words(text) for text, _ in test],
    }
    ids = build_vocabulary(texts["train"])
    tokens: dict[str, npt.NDArray[np.uint16 | np.int32 | np.uint8]] = {}
    for part, pairs in (("train", train), ("test", test)):
        tokens |= {
            f"x_{part}": _find_ids(texts[part], ids),
            f"lengths_{part}": np.array([len(text) for text in texts[part]], dtype=np.int32),
            f"y_{part}": np.array([label for _, label in pairs], dtype=np.uint8),
        }
    return tokens


def _find_ids(texts: Iterable[Text], ids: Mapping[str, int]) -> npt.NDArray[np.uint16]:
    return np.array([ids.get(word, UNKNOWN) for text in texts for word in text], dtype=np.uint16)
