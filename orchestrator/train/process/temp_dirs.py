"""Temporary folders: one that its owner was killed before it could remove is removed by the next start."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# The kernel takes 107 characters for a socket's name. Ray's folder, session and socket need 79, a fork
# server's 44.
_LONGEST = 28
_OWNER = "owner"


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder with mode 0700 and a path short enough for names of sockets; it is removed at the end."""
    for folder in find_abandoned(prefix):
        shutil.rmtree(folder, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=parent_folder(), ignore_cleanup_errors=True) as made,
        _owned(Path(made)),
    ):
        yield Path(made)


def parent_folder() -> Path:
    """Return the folder in which temporary folders are made."""
    place = tempfile.gettempdir()
    # what is made there is random and has mode 0700
    return Path(place if len(place) <= _LONGEST else "/tmp")  # noqa: S108


def find_abandoned(prefix: str) -> tuple[Path, ...]:
    """Find the temporary folders of processes of this user that were killed."""
    return tuple(folder for folder in parent_folder().glob(f"{prefix}*") if _is_abandoned(folder))


@contextlib.contextmanager
def _owned(folder: Path) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends. The file has its name once it is locked."""
    new = folder / f".{_OWNER}"
    with new.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        new.rename(folder / _OWNER)
        yield


def _is_abandoned(folder: Path) -> bool:
    """Return whether a process of this user made the folder on this host and has ended."""
    try:
        if folder.lstat().st_uid != os.getuid():
            return False
        with (folder / _OWNER).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another user's, or already removed
        return False
    return True
