"""Declaration of a data set: the files it is read from and the program that imitates it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a plan needs the declarations, not numpy
    import numpy.typing as npt

Arrays = Mapping[str, "npt.NDArray[Any]"]
"""y_train, y_test: [sample] class indices; x_train, x_test, one of
- images, uint8 [sample, height, width, channel] in 0..255;
- rows of features, float32 [sample, ...];
- texts, uint16 token ids of all samples in one row, beside lengths_train, lengths_test: [sample];
- photographs, names [sample] as bytes, within `folder`: one path, relative to the prepared file's folder.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """A file that is recognised by its hash wherever it lies.

    Attributes:
        name: file name of a stored download.
        digest: `sha256:<hex>`, or `md5:<hex>` if the publisher gives no better one.
        places: function that lists paths where the file may already exist.
        url: download address, or a function that finds it; None if it cannot be downloaded.
        packed: True if the file may be gzip-compressed. The digest is that of the unpacked content, because
            files packed by different programs differ.
    """

    name: str
    digest: str
    places: Callable[[], tuple[Path, ...]]
    url: str | Callable[[], str] | None = None
    packed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Files that together hold a data set.

    Attributes:
        description: content of the files, in one line for the screen.
        cure: way for a user to get the files.
        read: paths in the order of `files` -> the data set.
    """

    description: str
    files: tuple[PublishedFile, ...]
    cure: str
    read: Callable[[Sequence[Path]], Arrays]

    @property
    def identity(self) -> str:
        """Hash of the one file, or of the digests of several."""
        if len(self.files) == 1:
            return self.files[0].digest.removeprefix("sha256:")
        return hashlib.sha256("\n".join(file.digest for file in self.files).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFolder:
    """Folder that the user gives, because its content must not be published.

    Attributes:
        description: content of the folder, for the screen.
        cure: advice for a user who gave no folder.
        identify: folder -> hash of its content.
        read: folder -> the data set; ValueError where the folder is not in the layout that is expected.
    """

    description: str
    cure: str
    identify: Callable[[Path], str]
    read: Callable[[Path], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Samples made by a program.

    Attributes:
        version: raised when `make` gives other samples.
        make: cache -> the data set, the same each time; what it puts into the cache it guards itself.
    """

    description: str
    version: int
    make: Callable[[Path], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set and its declared substitutes.

    Attributes:
        name: name of prepared files in the cache.
        version: raised when the same files are read or split in another way; part of a prepared file's name.
        real: the forms in which it is published, the preferred one first, or the folder that a user gives.
        standin: fewer but real data for machines without internet; None where there are none.
        train_samples: size of the full training set, also for a stand-in; None if unknown. A folder
            that a user gives is counted.
    """

    name: str
    version: int
    real: tuple[Published, ...] | UserFolder
    standin: Published | None
    synthetic: Synthetic
    train_samples: int | None = None

    def __post_init__(self) -> None:
        count = self.train_samples
        if count is not None and (type(count) is not int or count < 1):
            raise ValueError(
                f"data set {self.name!r} train_samples={count!r} must be a whole number from 1 on, or None"
            )
