"""A folder of answers by key: captured programs, and the compiler's answers about them."""

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core import codec
from orchestrator.core.errors import RecordError
from orchestrator.core.memory_fit import MemoryFit
from orchestrator.extensions.tpu_compiler.program_cost import ProgramCost


def hash_key(*parts: object) -> str:
    """Return the SHA-256 of the parts, as a name for a file."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=codec.to_plain).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedProgram:
    """Answer of a trainer's process.

    Attributes:
        module: the program of one replica that has the whole global batch.
        batch_parameters: numbers of the entry parameters that hold samples.
        host_seconds: time that the host takes to prepare one step, at least; None: not known.
    """

    module: bytes
    batch_parameters: tuple[int, ...]
    host_seconds: float | None


class CompileCache:
    """Answers in files that appear whole; one that cannot be read or written is as good as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def program(self, capture_key: str) -> CapturedProgram | None:
        """Return a captured program."""
        try:
            told = json.loads(self._path(capture_key, "capture.json").read_bytes())
            return CapturedProgram(
                module=self._path(capture_key, "hlo.pb").read_bytes(),
                batch_parameters=tuple(told["batch_parameters"]),
                host_seconds=told["host_seconds"],
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep_program(self, capture_key: str, captured: CapturedProgram) -> None:
        """Store a captured program; its description is written last, so that it belongs to a whole one."""
        told = {"batch_parameters": captured.batch_parameters, "host_seconds": captured.host_seconds}
        self._write(self._path(capture_key, "hlo.pb"), captured.module)
        self._write(self._path(capture_key, "capture.json"), json.dumps(told).encode())

    def count(self, key: str) -> tuple[int, int] | None:
        """Return bytes of tensors and of gradients."""
        try:
            tensors, gradients = json.loads(self._path(key, "tensors.json").read_bytes())
            return int(tensors), int(gradients)
        except (OSError, ValueError, TypeError):
            return None

    def keep_count(self, key: str, counted: tuple[int, int]) -> None:
        """Store a count."""
        self._write(self._path(key, "tensors.json"), json.dumps(counted).encode())

    def fit(self, key: str) -> MemoryFit | None:
        """Return the compiler's verdict."""
        try:
            return codec.from_json(MemoryFit, self._path(key, "memory.json").read_bytes())
        except (OSError, RecordError):
            return None

    def keep_fit(self, key: str, fit: MemoryFit) -> None:
        """Store a verdict."""
        self._write(self._path(key, "memory.json"), codec.to_json(fit).encode())

    def cost(self, key: str) -> ProgramCost | None:
        """Return the cycles and bytes of a compiled program."""
        try:
            return codec.from_json(ProgramCost, self._path(key, "cost.json").read_bytes())
        except (OSError, RecordError):
            return None

    def keep_cost(self, key: str, cost: ProgramCost) -> None:
        """Store a cost."""
        self._write(self._path(key, "cost.json"), codec.to_json(cost).encode())

    def _path(self, key: str, ending: str) -> Path:
        return self._folder / f"{key}.{ending}"

    def _write(self, path: Path, content: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk costs time in the next command, and nothing now
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(name).replace(path)
            finally:
                Path(name).unlink(missing_ok=True)
