"""A folder of answers by key."""

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from orchestrator.core import codec


def hash_key(*parts: object) -> str:
    """Return the SHA-256 of the parts, as a name for a file."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=codec.to_plain).encode()).hexdigest()


class CompileCache:
    """Answers in files that appear whole; one that cannot be read or written is as good as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def count(self, key: str) -> tuple[int, int] | None:
        """Return bytes of tensors and of gradients."""
        try:
            tensors, gradients = json.loads(self.find_path(key, "tensors.json").read_bytes())
            return int(tensors), int(gradients)
        except (OSError, ValueError, TypeError):
            return None

    def keep_count(self, key: str, counted: tuple[int, int]) -> None:
        """Store a count."""
        self.write(self.find_path(key, "tensors.json"), json.dumps(counted).encode())

    def find_path(self, key: str, ending: str) -> Path:
        """Return the file of an answer."""
        return self._folder / f"{key}.{ending}"

    def write(self, path: Path, content: bytes) -> None:
        """Write a file, whole or not at all."""
        with contextlib.suppress(OSError):  # a full disk costs time in the next command, and nothing now
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(name).replace(path)
            finally:
                Path(name).unlink(missing_ok=True)
