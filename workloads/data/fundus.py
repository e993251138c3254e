"""Fundus photographs graded for diabetic retinopathy, 0 (none) to 4 (proliferative), from a user's folder."""

import os
from pathlib import Path

import numpy as np

from workloads.data.dataset import Arrays, DataSet, Synthetic, UserFolder
from workloads.data.files import folder_written_whole
from workloads.data.fundus_folder import identify, read
from workloads.data.painted_fundus import RETINA, paint
from workloads.data.published import Means, find

_COUNT = 600
_VERSION = 1


def _painted(cache: Path) -> Arrays:
    """Paint the folder unless it is there, for it is written whole or not at all, and read it."""
    folder = cache / f"fundus-synthetic-{_VERSION}"
    if not folder.exists():
        retina = RETINA.read(find(RETINA, Means(cache=cache, download=False)))["retina"]
        with folder_written_whole(folder) as partial:
            paint(partial, retina, count=_COUNT)
    return {**read(folder), "folder": np.array(os.fsencode(folder.name))}


FUNDUS = DataSet(
    name="fundus",
    version=1,
    real=UserFolder(
        description="graded fundus photographs",
        cure="set data_folder to photographs from Kaggle (APTOS or EyePACS), or set data.source=synthetic",
        identify=identify,
        read=read,
    ),
    standin=None,
    synthetic=Synthetic(
        description="synthetic: 600 pictures of one healthy eye, graded by lesions that a program painted",
        version=_VERSION,
        make=_painted,
    ),
    train_samples=57_146,  # of EyePACS, which the replication trains on that `retinopathy_cnn` follows
)
