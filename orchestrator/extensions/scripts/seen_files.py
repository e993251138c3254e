"""Files that a script read, as its callback reports them, and their hashes when it has ended."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads.script.file_hash import CHANGED, hash_files

MOST_FILES = 1000
"""Number of files that are kept of those that a script read, and of those that it wrote."""

_MOST_LETTERS = 4096  # of a name
_TEXTS = (".cfg", ".ini", ".json", ".py", ".toml", ".yaml", ".yml")
"""Files that a person edits: one that changed without being seen written is not taken for the trial's own."""


class SeenFiles:
    """Files that one process of a script opened below its folders.

    Attributes:
        written: names of those that it wrote.
        has_more: True if there are more than those that are kept.

    Args:
        folder: working directory of the script, to which names are relative.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._began = time.time_ns()
        self._changed_at: dict[str, int] = {}
        self.written: dict[str, None] = {}
        self.has_more = False

    def add(self, message: Mapping[str, Any]) -> None:
        """Take the files of a message; what is no name of a file or no time is left out."""
        files, written = message.get("files"), message.get("written")
        if isinstance(files, Mapping):
            for name, changed_at in files.items():
                if _is_name(name) and isinstance(changed_at, int) and len(self._changed_at) < MOST_FILES:
                    self._changed_at.setdefault(name, changed_at)
        if isinstance(written, list):
            names = [name for name in written if _is_name(name)]
            self.written.update(dict.fromkeys(names[: MOST_FILES - len(self.written)]))
        self.has_more = self.has_more or message.get("has_more") is True

    def hash(self) -> dict[str, str]:
        """Hash the files that the trial has read and not written. Call it when the script has ended.

        Files that libraries or other processes of the trial wrote are known by their time.
        """
        paths = {name: self._folder / name for name in self._changed_at if name not in self.written}
        times = {name: _changed_at(path) for name, path in paths.items()}
        kept = {
            name: path
            for name, path in paths.items()
            if path.suffix in _TEXTS
            or (times[name] == self._changed_at[name] and self._changed_at[name] < self._began)
        }
        hashes = hash_files(kept.values())
        return {
            name: hashes.get(path, CHANGED) if times[name] == self._changed_at[name] else CHANGED
            for name, path in kept.items()
        }


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _MOST_LETTERS and "\0" not in name


def _changed_at(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
