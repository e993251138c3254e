"""Bytes that are on disk when the call returns."""

import os
from pathlib import Path
from typing import Literal

from workloads.data.files import require_regular


def write_synced(path: Path, content: bytes, *, mode: Literal["ab", "wb"]) -> None:
    """Append to a file, or write it anew.

    Raises:
        OSError: it cannot be, or not all of it, or what is there is not a regular file.
    """
    if path.exists():
        require_regular(path)
    with path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_content(path: Path) -> bytes:
    """Return the content of a file; empty if it does not exist. Raises OSError if not a regular file."""
    if not path.exists():
        return b""
    require_regular(path)
    return path.read_bytes()


def sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on disk: their content is not enough.

    Raises:
        OSError: they cannot be.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
