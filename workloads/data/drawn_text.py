"""Running text put together by a program: frequent words are many, and a word often calls for another one."""

import numpy as np

from workloads.data.dataset import Arrays
from workloads.data.words import FIRST_WORD

_WORDS = 20_000
_TRAIN, _TEST = 1_000_000, 50_000
"""Words of both halves."""

_FOLLOWED_SHARE = 0.5
"""Share of the words that the word before calls for."""

_GROUP = 10
"""Neighbours in rank among which a word calls for one, so that words stay as frequent as they are drawn."""


def draw() -> Arrays:
    """Draw both halves as one text each; always the same.

    A word of rank r is drawn in proportion to 1 / r (Zipf 1949).
    """
    random = np.random.default_rng(8)
    weights = 1 / np.arange(1, _WORDS + 1)
    drawn = random.choice(_WORDS, _TRAIN + _TEST, p=weights / weights.sum()).tolist()
    follows = (random.random(_TRAIN + _TEST) < _FOLLOWED_SHARE).tolist()
    followers = random.permuted(np.arange(_WORDS).reshape(-1, _GROUP), axis=1).ravel().tolist()
    ranks = [drawn[0]]
    for rank, is_called in zip(drawn[1:], follows[1:], strict=True):
        ranks.append(followers[ranks[-1]] if is_called else rank)
    ids = np.array(ranks, dtype=np.uint16) + FIRST_WORD
    return {**_half("train", ids[:_TRAIN]), **_half("test", ids[_TRAIN:])}


def _half(part: str, ids: np.ndarray) -> Arrays:
    return {
        f"x_{part}": ids.astype(np.uint16),
        f"lengths_{part}": np.array([len(ids)], dtype=np.int32),
        f"y_{part}": np.zeros(1, dtype=np.uint8),
    }
