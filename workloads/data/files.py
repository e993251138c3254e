"""Files that are whole or not there, that one process makes at a time, that have an end and a known hash."""

import errno
import fcntl
import gzip
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

MOST_UNPACKED_BYTES = 2**31
"""That are hashed: a small archive may hold more than a disk does, and none that is expected does."""


_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


def require_regular(path: Path) -> None:
    """Refuse a file that may have no end, or that blocks a reader.

    Raises:
        OSError: it is a folder, a pipe, a device or a socket, or not there.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "device")
        raise OSError(errno.EINVAL, f"it is a {kind}, and no regular file", str(path))


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


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """Do the same as `written_whole` with a folder, which must not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    partial.mkdir()
    try:
        yield partial
        partial.replace(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes that lock `path` waiting; the lock dies with its process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unpacked(path: Path) -> IO[bytes]:
    """Open what a file holds, gzip-compressed or not."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path, "rb")) if compressed else path.open("rb")


def hash_content(path: Path, algorithm: str, *, packed: bool = False) -> str:
    """Hash of a file, or of what it holds if it may be `packed`; of no more than `MOST_UNPACKED_BYTES`."""
    require_regular(path)
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with unpacked(path) if packed else path.open("rb") as file:
        while (piece := file.read(2**20)) and file.tell() <= MOST_UNPACKED_BYTES:
            digest.update(piece)
    return digest.hexdigest()
