"""A prepared file as its training and its test half, in the form that a workload needs."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.data.arrays import ArraySplit
from workloads.data.need import DataNeed
from workloads.data.prepared import find_folder
from workloads.data.split import Split
from workloads.data.texts import TextSplit
from workloads.data.tokens import TokenSplit, running_text

_REFERABLE = 2
"""The mildest grade of retinopathy for which a patient is sent to a specialist."""

_PARTS = ("train", "test")

Arrays = Mapping[str, npt.NDArray[Any]]


def read_splits(path: Path, data: DataNeed, *, seed: int) -> tuple[Split, Split, bool]:
    """Read the halves, and whether they lie in memory, so that batches can be staged.

    Args:
        seed: seed of the augmentation of photographs to train on.

    Raises:
        ValueError: `data` lacks what this kind of data needs.
    """
    with np.load(path, allow_pickle=False) as arrays:
        if "folder" in arrays:
            half = partial(_photographs, arrays, data=data, folder=find_folder(arrays, path))
            return half("train", seed=seed), half("test", seed=None), False
        read = _texts if "lengths_train" in arrays else _arrays
        return read(arrays, "train", data), read(arrays, "test", data), True


def _arrays(arrays: Arrays, part: str, data: DataNeed) -> Split:
    return ArraySplit(samples=arrays[f"x_{part}"], labels=_labels(arrays, part), image_size=data.image_size)


def _texts(arrays: Arrays, part: str, data: DataNeed) -> Split:
    if data.vocabulary is None or data.sequence_length is None:
        raise ValueError(f"data set {data.data_set!r} holds texts: vocabulary and sequence_length are needed")
    if data.targets != "labels":
        return TokenSplit(
            ids=running_text(arrays[f"x_{part}"], arrays[f"lengths_{part}"]),
            vocabulary=data.vocabulary,
            length=data.sequence_length,
            is_masked=data.targets == "masked_token",
            seed=_PARTS.index(part),
        )
    return TextSplit(
        ids=arrays[f"x_{part}"],
        ends=np.cumsum(arrays[f"lengths_{part}"], dtype=np.int64),
        labels=_labels(arrays, part),
        vocabulary=data.vocabulary,
        length=data.sequence_length,
    )


def _photographs(arrays: Arrays, part: str, *, data: DataNeed, folder: Path, seed: int | None) -> Split:
    from workloads.data.photographs import PhotographSplit  # Pillow is needed here alone

    if data.image_size is None:
        raise ValueError(f"data set {data.data_set!r} holds photographs: image_size is needed")
    grades = _labels(arrays, part)
    return PhotographSplit(
        files=tuple(folder / os.fsdecode(name) for name in arrays[f"x_{part}"]),
        labels=(grades >= _REFERABLE).astype(np.int32) if data.binary else grades,
        image_size=data.image_size,
        augmentation_seed=seed,
    )


def _labels(arrays: Arrays, part: str) -> npt.NDArray[np.int32]:
    return arrays[f"y_{part}"].astype(np.int32)
