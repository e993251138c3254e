"""A folder of captured programs, and of the compiler's answers about them."""

import json
from dataclasses import dataclass

from orchestrator.compile.cache import CompileCache
from orchestrator.core import codec
from orchestrator.core.errors import RecordError
from orchestrator.core.memory_fit import MemoryFit
from orchestrator.extensions.tpu_compiler.program_cost import ProgramCost


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


class ProgramCache(CompileCache):
    """Programs and answers by key."""

    def program(self, capture_key: str) -> CapturedProgram | None:
        """Return a captured program."""
        try:
            description = json.loads(self.find_path(capture_key, "capture.json").read_bytes())
            return CapturedProgram(
                module=self.find_path(capture_key, "hlo.pb").read_bytes(),
                batch_parameters=tuple(description["batch_parameters"]),
                host_seconds=description["host_seconds"],
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep_program(self, capture_key: str, captured: CapturedProgram) -> None:
        """Store a captured program; its description is written last, so that it belongs to a whole one."""
        description = {"batch_parameters": captured.batch_parameters, "host_seconds": captured.host_seconds}
        self.write(self.find_path(capture_key, "hlo.pb"), captured.module)
        self.write(self.find_path(capture_key, "capture.json"), json.dumps(description).encode())

    def fit(self, key: str) -> MemoryFit | None:
        """Return the compiler's verdict."""
        try:
            return codec.from_json(MemoryFit, self.find_path(key, "memory.json").read_bytes())
        except (OSError, RecordError):
            return None

    def keep_fit(self, key: str, fit: MemoryFit) -> None:
        """Store a verdict."""
        self.write(self.find_path(key, "memory.json"), codec.to_json(fit).encode())

    def cost(self, key: str) -> ProgramCost | None:
        """Return the cycles and bytes of a compiled program."""
        try:
            return codec.from_json(ProgramCost, self.find_path(key, "cost.json").read_bytes())
        except (OSError, RecordError):
            return None

    def keep_cost(self, key: str, cost: ProgramCost) -> None:
        """Store a cost."""
        self.write(self.find_path(key, "cost.json"), codec.to_json(cost).encode())
