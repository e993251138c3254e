"""Sentences of film reviews with the mean of people's ratings: real data in place of IMDB's reviews.

From the ground truth of VADER (Hutto and Gilbert, ICWSM 2014), which version 0.5 of its Python package holds;
the sentences themselves are from Pang and Lee's reviews.
"""

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from workloads.data.dataset import Arrays, Published, PublishedFile
from workloads.data.package_index import find_url
from workloads.data.words import tokenized

_FILE = "vaderSentiment-0.5.zip"
_ARCHIVE = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
_SENTENCES = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
_TRAIN_SHARE = 0.8


def _read(paths: Sequence[Path]) -> Arrays:
    """Positive is a mean rating above 0; the few at 0 are left out. The order is drawn once and for all."""
    pairs = [(text, int(rating > 0)) for rating, text in _rated(paths[0]) if rating]
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = [pairs[index] for index in order]
    cut = int(_TRAIN_SHARE * len(shuffled))
    return tokenized(shuffled[:cut], shuffled[cut:])


def _rated(path: Path) -> Iterator[tuple[float, str]]:
    """(mean rating from -4 to 4, sentence): lines of number, rating and text, parted by tabs."""
    with ZipFile(path) as package, package.open(_ARCHIVE) as packed, tarfile.open(fileobj=packed) as archive:
        file = archive.extractfile(_SENTENCES)
        if file is None:
            raise ValueError(f"{path} holds no file {_SENTENCES!r}")
        for line in file.read().decode().splitlines():
            _, rating, text = line.split("\t", 2)
            yield float(rating), text


MOVIE_SENTENCES = Published(
    description=(
        "stand-in for IMDB, 10,568 rated sentences of film reviews: 8,454 to train on and 2,114 to test"
    ),
    files=(
        PublishedFile(
            name=_FILE,
            digest="sha256:5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a",
            places=tuple,
            url=lambda: find_url("vaderSentiment", _FILE),
        ),
    ),
    cure="download that file of the package vaderSentiment and put it there, or set data.source=synthetic",
    read=_read,
)
