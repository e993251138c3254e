"""Published files: found by their hash in the usual places, or downloaded to the cache."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.data.dataset import Published, PublishedFile
from workloads.data.files import hash_content

if TYPE_CHECKING:
    from workloads.data.download import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Permitted ways to obtain data.

    Attributes:
        cache: folder for downloaded and prepared files; several processes may share it.
        download: True if downloads are allowed.
        folder: folder that the user gives for data sets that are not published.
        progress: receives the progress of downloads.
    """

    cache: Path
    download: bool
    folder: Path | None = None
    progress: "Progress | None" = None


class MissingDataError(ValueError):
    """Data that cannot be had.

    Attributes:
        description: description of the data.
        tried: places that were searched, and the fault of each.
        wrong: files among these that exist with wrong content.
        cure: advice for the user.
        untried: files that a download would give, had it been allowed; None if there are none.
    """

    def __init__(
        self,
        description: str,
        *,
        tried: tuple[str, ...],
        wrong: tuple[str, ...],
        cure: str,
        untried: Published | None = None,
    ) -> None:
        super().__init__(f"{description}: {', '.join(tried)}; {cure}")
        self.description, self.tried, self.wrong, self.cure = description, tried, wrong, cure
        self.untried = untried


def find(published: Published, means: Means) -> tuple[Path, ...]:
    """Locate the files of a data set; download missing ones to the cache where that is permitted.

    Raises:
        MissingDataError: one of them is in none of its places with the right content.
    """
    return tuple(_found(file, published, means) for file in published.files)


def _found(file: PublishedFile, published: Published, means: Means) -> Path:
    kept = means.cache / file.name
    absent: list[Path] = []
    wrong: list[str] = []
    for path in (*file.places(), kept):
        if not path.exists():
            absent.append(path)
        elif trouble := _trouble_with(path, file):
            wrong.append(trouble)
        else:
            return path
    tried = [*wrong, *_explain_missing(absent)]
    if means.download and file.url is not None:
        from workloads.data.download import DownloadError, download

        try:
            url = file.url() if callable(file.url) else file.url
            download(url, kept, trouble_with=lambda part: _trouble_with(part, file), progress=means.progress)
        except DownloadError as error:
            tried.append(str(error))
        else:
            return kept
    raise MissingDataError(
        published.description,
        tried=tuple(tried),
        wrong=tuple(wrong),
        cure=published.cure,
        untried=None if file.url is None or means.download else published,
    )


def _explain_missing(absent: list[Path]) -> tuple[str, ...]:
    """Names the place that a user would best put the file to, and counts the others."""
    if len(absent) < 3:
        return tuple(f"no {path}" for path in absent)
    return (f"no {absent[0]} (nor in {len(absent) - 1} other places)",)


def _trouble_with(path: Path, file: PublishedFile) -> str | None:
    """Return the reason why the content of `path` is not that file, or None if it is."""
    algorithm, _, expected = file.digest.partition(":")
    try:
        actual = hash_content(path, algorithm, packed=file.packed)
    except (gzip.BadGzipFile, zlib.error, EOFError):
        return f"{path} is not a whole gzip file"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return None if actual == expected else f"{path} has {algorithm} {actual[:12]}…, expected {expected[:12]}…"
