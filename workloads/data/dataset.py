"""What a data set must tell about itself: the files it is read from and the program that imitates it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[np.uint8]]
"""x_train, x_test: [sample, height, width, channel] in 0..255; y_train, y_test: [sample] class indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A published file, recognised by its hash.

    Attributes:
        name: of the file.
        description: what it holds, in one line for the screen.
        sha256: of the whole file.
        places: () -> where it may already lie.
        url: None where it cannot be downloaded.
        cure: how a user gets it.
        read: path -> the data set.
    """

    name: str
    description: str
    sha256: str
    places: Callable[[], tuple[Path, ...]]
    url: str | None
    cure: str
    read: Callable[[Path], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Images drawn by a program.

    Attributes:
        version: raised when `draw` gives other images.
        draw: () -> the data set, the same each time.
    """

    description: str
    version: int
    draw: Callable[[], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set and its declared substitutes.

    Attributes:
        version: raised when the same files are read or split in another way; part of a prepared file's name.
        standin: fewer but real data for machines without internet.
    """

    name: str
    version: int
    real: SourceFile
    standin: SourceFile
    synthetic: Synthetic
