"""Compilers of extensions that answer questions about steps on absent devices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.compile.child import Limits
from orchestrator.compile.step import StepProgram
from orchestrator.core.device import DeviceKind
from orchestrator.core.estimate import CompiledStep, NotCompiled
from orchestrator.core.memory_fit import MemoryFit, NoFit, TensorCount
from orchestrator.core.settings import Compiling


class MemoryCompiler(Protocol):
    """Finds the memory of steps."""

    def find_fit(self, step: StepProgram) -> MemoryFit | TensorCount | NoFit:
        """Return the memory of a step on one replica, or the reason why it is not known."""

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process."""


class TimeCompiler(Protocol):
    """Finds the time of steps.

    Attributes:
        compiles: False: it answers from its cache alone.
    """

    compiles: bool

    def predict_step(self, step: StepProgram) -> CompiledStep | NotCompiled:
        """Return the time of a step, or the reason why it is not known."""

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process."""

    def cancel(self) -> None:
        """Kill the processes that run, from another thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerSettings:
    """Inputs from which an extension builds its compilers.

    Attributes:
        folder: folder of the answers that are kept.
        limits: limits of one process.
        code_sha256: hash of the code, ours and the user's: an answer about other code is never used.
        compiles: False: use earlier answers only, and start no process.
    """

    compiling: Compiling
    folder: Path
    limits: Limits
    code_sha256: str
    compiles: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCompilers:
    """Compilers of an extension, for one kind of device."""

    kind: DeviceKind
    memory: MemoryCompiler
    time: TimeCompiler


class NoCompiler:
    """Answers about kinds of device for which no extension has a compiler: their memory is unknown."""

    def find_fit(self, step: StepProgram) -> NoFit:
        """Return the reason why it is not known."""
        return NoFit(reason=f"it is unknown: no registered extension has a compiler for {step.device.name}")

    def knows(self, step: StepProgram) -> bool:  # noqa: ARG002  every compiler is asked about a step
        """Return True: there is nothing to ask."""
        return True
