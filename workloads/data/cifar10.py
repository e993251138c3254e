"""CIFAR-10: small colour photographs, 32x32, ten classes (Krizhevsky 2009)."""

import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from workloads.data import caches
from workloads.data.dataset import Arrays, DataSet, Published, PublishedFile, Synthetic
from workloads.data.restricted_pickle import read_pickle
from workloads.data.textures import draw

_DESCRIPTION = "CIFAR-10, 50,000 photographs to train on and 10,000 to test"
_CURE = "put it there, or set data.source=synthetic"
_BATCHES = {  # md5 sums as torchvision publishes them
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


def _extracted(name: str) -> tuple[Path, ...]:
    folder = "cifar-10-batches-py"
    return (
        caches.keras(f"{folder}-target", folder, name),
        caches.keras(folder, name),
        caches.torchvision(folder, name),
    )


def _read_extracted(paths: Sequence[Path]) -> Arrays:
    parts = []
    for path in paths:
        with path.open("rb") as file:
            parts.append(_batch(file, name=str(path)))
    return _joined(parts)


def _read_archive(paths: Sequence[Path]) -> Arrays:
    """Members are read in place: nothing is extracted, so none can lie outside the folder."""
    with tarfile.open(paths[0]) as archive:
        return _joined([_batch(_member(archive, name), name=name) for name in _BATCHES])


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    file = archive.extractfile(f"cifar-10-batches-py/{name}")
    if file is None:
        raise ValueError(f"{archive.name!s} holds no file {name!r}")
    return file


def _batch(file: IO[bytes], *, name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Images [sample, height, width, channel] and labels; the file has one plane for each colour."""
    content = read_pickle(file, name=name)
    planes = np.asarray(content[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
    return planes.transpose(0, 2, 3, 1), np.asarray(content[b"labels"], dtype=np.uint8)


def _joined(parts: Iterable[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]) -> Arrays:
    *train, (test_images, test_labels) = parts
    return {
        "x_train": np.concatenate([images for images, _ in train]),
        "y_train": np.concatenate([labels for _, labels in train]),
        "x_test": test_images,
        "y_test": test_labels,
    }


CIFAR10 = DataSet(
    name="cifar10",
    version=1,
    real=(
        Published(
            description=_DESCRIPTION,
            files=(
                PublishedFile(
                    name="cifar-10-python.tar.gz",
                    digest="sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                    places=lambda: (
                        caches.keras("cifar-10-python.tar.gz"),
                        caches.keras("cifar-10-batches-py.tar.gz"),
                        caches.torchvision("cifar-10-python.tar.gz"),
                    ),
                    url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                ),
            ),
            cure=_CURE,
            read=_read_archive,
        ),
        Published(
            description=_DESCRIPTION,
            files=tuple(
                PublishedFile(
                    name=f"cifar-10-{name}",
                    digest=f"md5:{digest}",
                    places=lambda name=name: _extracted(name),  # type: ignore[misc]  # bound now
                )
                for name, digest in _BATCHES.items()
            ),
            cure=_CURE,
            read=_read_extracted,
        ),
    ),
    standin=None,
    synthetic=Synthetic(
        description="synthetic: 2,500 textures drawn by a program, 2,000 to train on and 500 to test",
        version=1,
        make=lambda _: draw(),
    ),
    train_samples=50_000,
)
