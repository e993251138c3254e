"""IMDB: film reviews, positive or negative (Maas, Daly, Pham, Huang, Ng, Potts 2011)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.data import caches
from workloads.data.dataset import Arrays, DataSet, Published, PublishedFile, Synthetic
from workloads.data.drawn_reviews import draw
from workloads.data.movie_sentences import MOVIE_SENTENCES
from workloads.data.restricted_pickle import read_npz_member
from workloads.data.words import FIRST_WORD, MOST_IDS, UNKNOWN

Ids = npt.NDArray[np.int64]


def _read_keras(paths: Sequence[Path]) -> Arrays:
    """Lists of word numbers, ranked anew: by how often they occur in the training half, equals by number.

    The file knows numbers, not words. Its reviews are sorted by label, so their order is drawn here, once.
    """
    halves = {part: _half(paths[0], part) for part in ("train", "test")}
    ids = _ids_by_number(halves["train"][0])
    arrays: dict[str, npt.NDArray[Any]] = {}
    for part, (numbers, lengths, labels) in halves.items():
        arrays |= {
            f"x_{part}": _looked_up(numbers, ids),
            f"lengths_{part}": lengths,
            f"y_{part}": labels,
        }
    return arrays


def _half(path: Path, part: str) -> tuple[Ids, npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Numbers of all reviews one after another, words of each review, labels."""
    reviews, labels = (read_npz_member(path, f"{name}_{part}") for name in "xy")
    order = np.random.default_rng(0).permutation(len(reviews))
    lists = [reviews[index] for index in order]
    lengths = np.array([len(tokens) for tokens in lists], dtype=np.int32)
    return np.concatenate(lists).astype(np.int64), lengths, labels[order].astype(np.uint8)


def _ids_by_number(numbers: Ids) -> npt.NDArray[np.uint16]:
    """[number] -> token id; UNKNOWN where a number does not occur or there are too many others."""
    counts = np.bincount(numbers)
    ranked = np.argsort(-counts, kind="stable")[: min(np.count_nonzero(counts), MOST_IDS - FIRST_WORD)]
    ids = np.full(len(counts), UNKNOWN, dtype=np.uint16)
    ids[ranked] = np.arange(FIRST_WORD, FIRST_WORD + len(ranked))
    return ids


def _looked_up(numbers: Ids, ids: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    is_known = numbers < len(ids)
    return np.where(is_known, ids[np.where(is_known, numbers, 0)], UNKNOWN).astype(np.uint16)


IMDB = DataSet(
    name="imdb",
    version=1,
    real=(
        Published(
            description="IMDB, 25,000 film reviews to train on and 25,000 to test",
            files=(
                PublishedFile(
                    name="imdb.npz",
                    digest="sha256:69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
                    places=lambda: (caches.keras("imdb.npz"),),
                    url="https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb.npz",
                ),
            ),
            cure="put it there, or set data.source=standin",
            read=_read_keras,
        ),
    ),
    standin=MOVIE_SENTENCES,
    synthetic=Synthetic(
        description="synthetic: 2,500 reviews put together by a program, 2,000 to train on and 500 to test",
        version=1,
        make=lambda _: draw(),
    ),
    train_samples=25_000,
)
