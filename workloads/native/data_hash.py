"""The part of a data set that identifies it: all of arrays in memory, samples from the whole of others."""

import hashlib
from collections.abc import Sequence

import numpy as np

MOST_SAMPLES = 32
"""Samples of a data set that is read one by one."""

_MOST_BYTES = 2**30  # of an array that is hashed whole: less than a second
_MOST_ROWS = 4096


def positions_in(count: int, most: int = MOST_SAMPLES) -> Sequence[int]:
    """Return positions from the first to the last, evenly spread: all of them where they are few."""
    if count <= most:
        return range(count)
    return [index * (count - 1) // (most - 1) for index in range(most)]


def digest_of_array(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
    """Hash an array whose first axis counts samples: its type, its shape and its content."""
    if array.dtype == object:  # whose bytes are addresses
        array = array.astype(str)
    rows = array if array.nbytes <= _MOST_BYTES else array[list(positions_in(len(array), _MOST_ROWS))]
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.hexdigest()
