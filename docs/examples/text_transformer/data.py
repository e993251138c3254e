"""Sentences put together by a program: praise and blame in each, and what counts is said last."""

from pathlib import Path

import numpy as np

from workloads.data.dataset import Arrays, DataSet, Synthetic
from workloads.data.words import tokenized

PRAISE = ["good", "warm", "clever", "lovely"]
BLAME = ["bad", "cold", "dull", "weak"]
OTHER = ["the", "a", "film", "plot", "is", "and", "very", "quite", "ending", "this", "with", "story"]


def write(_cache: Path) -> Arrays:
    """4,000 sentences to train on and 600 to test, label 1 for praise; always the same ones."""
    random = np.random.default_rng(7)
    pairs = [sentence(random, int(label)) for label in random.integers(0, 2, 4_600)]
    return tokenized(pairs[:4_000], pairs[4_000:])


def sentence(random: np.random.Generator, label: int) -> tuple[str, int]:
    """An opinion and its opposite among other words: which of them is the last one, only order tells."""
    words = list(random.choice(OTHER, random.integers(5, 11)))
    first, last = sorted(random.choice(len(words), 2, replace=False))
    words[first] = random.choice(BLAME if label else PRAISE)
    words[last] = random.choice(PRAISE if label else BLAME)
    return " ".join(words), label


SENTENCES = DataSet(
    name="praise_and_blame",
    version=1,
    real=(),
    standin=None,
    synthetic=Synthetic(description="synthetic: 4,600 sentences of praise or blame", version=1, make=write),
    train_samples=4_000,
)
