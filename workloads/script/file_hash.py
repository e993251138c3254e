"""Hashes of files by their content: of small ones all of it, of large ones parts."""

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

NUM_PARTS = 64
"""From the beginning of a file to its end."""

CHANGED = "changed"
"""In place of the hash of a file that changed while a trial read it."""

_DIGITS = 16
_MOST_WHOLE_BYTES = 2**28  # of all files of a trial together: a third of a second
_PART_BYTES = 2**14
_PARTS_MARK = "parts "  # before the hash of parts
_MOST_REMEMBERED = 20_000


def hash_whole(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_parts(path: Path, *, part_bytes: int) -> str:
    """Return the SHA-256 of a file's size and of parts of it."""
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}".encode())
    with path.open("rb") as file:
        for part in range(NUM_PARTS):
            file.seek(part * max(0, size - part_bytes) // (NUM_PARTS - 1))
            digest.update(file.read(part_bytes))
    return digest.hexdigest()


def hash_files(paths: Iterable[Path]) -> dict[Path, str]:
    """Hash the files of a trial; files that cannot be read are absent.

    The smallest ones are hashed as a whole, 256 MiB together, of the others parts of 1 MiB together.
    """
    sizes = {path: path.stat().st_size for path in paths if os.access(path, os.R_OK) and path.is_file()}
    hashes: dict[Path, str] = {}
    whole_bytes = 0
    for path, size in sorted(sizes.items(), key=lambda item: item[1]):
        whole_bytes += size
        hashes[path] = _hash(path, is_whole=whole_bytes <= _MOST_WHOLE_BYTES)
    return hashes


def hash_like(path: Path, earlier: str) -> str | None:
    """Hash a file as it was hashed before; None: it cannot be read. One that is the same is read once."""
    try:
        status = path.stat()
        return _hash_once(
            path, not earlier.startswith(_PARTS_MARK), status.st_ino, status.st_size, status.st_mtime_ns
        )
    except OSError:
        return None


@lru_cache(_MOST_REMEMBERED)
def _hash_once(path: Path, is_whole: bool, *_state: int) -> str:
    return _hash(path, is_whole=is_whole)


def _hash(path: Path, *, is_whole: bool) -> str:
    if is_whole:
        return hash_whole(path)[:_DIGITS]
    return f"{_PARTS_MARK}{hash_parts(path, part_bytes=_PART_BYTES)[:_DIGITS]}"
