"""Files that are whole and right or not there: recognised by hash, written beside and renamed, downloaded."""

import hashlib
import shutil
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from workloads.data.dataset import SourceFile

DOWNLOAD_TIMEOUT_SECONDS = 5.0
"""Longest wait for a connection and for each piece of the answer."""


class MissingFileError(ValueError):
    """A published file that cannot be had.

    Attributes:
        tried: where it was looked for, and what is wrong there.
    """

    def __init__(self, file: SourceFile, tried: str) -> None:
        super().__init__(f"{file.description}: {tried}; {file.cure}")
        self.tried = tried


def find(file: SourceFile, *, cache: Path, download: bool) -> Path:
    """Return where a published file lies, after downloading it to `cache` if that is wanted and needed.

    Raises:
        MissingFileError: it is in none of its places with the right content.
    """
    tried: list[str] = []
    for path in (*file.places(), cache / file.name):
        trouble = _trouble_with(path, file.sha256)
        if trouble is None:
            return path
        tried.append(trouble)
    if download and file.url is not None:
        try:
            _download(file.url, cache / file.name, sha256=file.sha256)
        except (OSError, HTTPException, ValueError) as error:
            tried.append(f"download of {file.url} failed: {error}")
        else:
            return cache / file.name
    raise MissingFileError(file, ", ".join(tried))


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Hand out a path to write to, which becomes `path` at the end and vanishes if the body fails.

    Writers of the same path do not meet: the last one to finish wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _trouble_with(path: Path, sha256: str) -> str | None:
    """Why `path` is not the file with that hash, or None if it is."""
    try:
        found = _sha256_of(path)
    except FileNotFoundError:
        return f"no {path}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return None if found == sha256 else f"{path} has sha256 {found[:12]}…, expected {sha256[:12]}…"


def _download(url: str, path: Path, *, sha256: str) -> None:
    with written_whole(path) as partial:
        with (
            urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT_SECONDS) as answer,
            partial.open("wb") as file,
        ):
            shutil.copyfileobj(answer, file)
        found = _sha256_of(partial)
        if found != sha256:
            raise ValueError(f"sha256 {found[:12]}…, expected {sha256[:12]}…")


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
