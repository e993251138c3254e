"""Reviews put together by a program: words that praise or blame among words that do neither."""

import numpy as np

from workloads.data.dataset import Arrays
from workloads.data.words import tokenized

_TRAIN, _TEST = 2_000, 500
_FEWEST, _MOST = 10, 60
"""Words in a review."""

_PRAISE = "brilliant charming clever delightful funny gripping lovely moving superb touching warm witty"
_BLAME = "boring clumsy dreadful dull flat lifeless muddled painful shallow stale tedious weak"
_NEITHER = """
    a about actor after all and as at before camera character cut director end film for from her his in into
    is it its last long music of on one other plot role scene screen script second she story that the then
    there this through to two under was when which while with year
"""
_OPINION_SHARE = 0.15
_SINCERE_SHARE = 0.8
"""Share of the words with an opinion that agree with the label."""


def draw() -> Arrays:
    """Write 2,500 reviews, half of them positive (label 1); always the same."""
    random = np.random.default_rng(4)
    pairs = [(_review(bool(label), random), int(label)) for label in random.integers(0, 2, _TRAIN + _TEST)]
    return tokenized(pairs[:_TRAIN], pairs[_TRAIN:])


def _review(positive: bool, random: np.random.Generator) -> str:
    length = random.integers(_FEWEST, _MOST + 1)
    opinions = max(1, round(_OPINION_SHARE * length))
    words = [str(word) for word in random.choice(_NEITHER.split(), length)]
    for place in random.choice(length, opinions, replace=False):
        sincere = random.random() < _SINCERE_SHARE
        words[place] = str(random.choice((_PRAISE if positive == sincere else _BLAME).split()))
    return " ".join(words)
