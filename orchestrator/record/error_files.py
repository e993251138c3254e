"""Whole texts of errors that are too long for a line of the terminal: the newest 20, in the cache."""

import contextlib
import tempfile
from pathlib import Path

from orchestrator.core.printable import printable
from workloads.data.sources import default_cache

_MOST_FILES = 20
"""So many long errors are kept in the cache; the oldest goes first."""


def error_folder() -> Path:
    """Return the folder of the files, which exists once an error was kept."""
    return default_cache() / "errors"


def find_errors() -> tuple[Path, ...]:
    """Find the kept errors, the oldest first. One that another process removes meanwhile is left out."""
    dated = {}
    for path in error_folder().glob("*.txt"):
        with contextlib.suppress(FileNotFoundError):
            dated[path] = path.stat().st_mtime
    return tuple(sorted(dated, key=dated.__getitem__))


def keep_error(text: str) -> Path:
    """Write an error into a file of its own, and remove the oldest ones. Raises OSError."""
    folder = error_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for old in find_errors()[: -_MOST_FILES + 1]:
        old.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", encoding="utf-8", delete=False) as file:
        file.write(f"{printable(text)}\n")
    return Path(file.name)
