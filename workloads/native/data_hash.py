"""The part of a data set that identifies it: all of arrays in memory, samples from the whole of others."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

MOST_SAMPLES = 32
"""Samples of a data set that is read one by one."""

_MOST_BYTES = 2**30  # of an array that is hashed whole: less than a second
_MOST_ROWS = 4096
_BLOCK_BYTES, _MOST_BLOCKS = 2**20, 256  # of a file, which is hashed whole up to 256 MiB


def hash_files(paths: Sequence[Path]) -> str:
    """Hash the content of files, of large ones blocks from the whole of them; empty: there are no files."""
    if not paths:
        return ""
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as content:
            for block in positions_in(-(-size // _BLOCK_BYTES), _MOST_BLOCKS):
                content.seek(block * _BLOCK_BYTES)
                digest.update(content.read(_BLOCK_BYTES))
    return digest.hexdigest()


def positions_in(count: int, most: int = MOST_SAMPLES) -> Sequence[int]:
    """Return positions from the first to the last, evenly spread: all of them where they are few."""
    if count <= most:
        return range(count)
    return [index * (count - 1) // (most - 1) for index in range(most)]


def digest_of_array(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
    """Hash an array [sample, ...]: its type, its shape and its content."""
    if array.dtype == object:  # whose bytes are addresses
        array = array.astype(str)
    rows = array if array.nbytes <= _MOST_BYTES else array[list(positions_in(len(array), _MOST_ROWS))]
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.hexdigest()
