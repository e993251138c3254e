"""The format in which MNIST and Fashion-MNIST are published: four IDX files, mostly gzip-compressed."""

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.data.dataset import Arrays, PublishedFile
from workloads.data.files import unpacked

_BYTES = 0x08  # the only element type that these sets use


def idx_files(
    digests: Mapping[str, str],
    *,
    kept_as: str,
    url: str,
    places: Callable[[str], tuple[Path, ...]],
) -> tuple[PublishedFile, ...]:
    """The four files of a set, in the order in which `read_idx` takes them.

    Args:
        digests: name without `.gz` -> sha256 of the unpacked content.
        kept_as: prefix of the names of downloaded files.
        url: URL of the folder that holds the compressed files.
        places: name without `.gz` -> where it may lie, compressed or not.
    """
    return tuple(
        PublishedFile(
            name=f"{kept_as}-{name}.gz",
            digest=f"sha256:{digest}",
            places=lambda name=name: places(name),  # type: ignore[misc]  # bound now, not when it is called
            url=f"{url}/{name}.gz",
            packed=True,
        )
        for name, digest in digests.items()
    )


def read_idx(paths: Sequence[Path]) -> Arrays:
    """Images and labels to train on, images and labels to test."""
    train_images, train_labels, test_images, test_labels = map(_array, paths)
    return {
        "x_train": train_images[..., np.newaxis],
        "y_train": train_labels,
        "x_test": test_images[..., np.newaxis],
        "y_test": test_labels,
    }


def _array(path: Path) -> npt.NDArray[np.uint8]:
    """Two zeros, the element type, the number of dimensions, their sizes (big endian), the elements."""
    with unpacked(path) as file:
        content = file.read()
    zeros, kind, dimensions = struct.unpack_from(">HBB", content)
    if (zeros, kind) != (0, _BYTES):
        raise ValueError(f"{path} is not an IDX file of bytes")
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
