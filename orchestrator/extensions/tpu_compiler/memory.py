"""(training step, TPU) -> whether the step's program fits, by the TPU's own compiler."""

from pathlib import Path

from orchestrator.compile.cache import hash_key
from orchestrator.compile.child import ChildError
from orchestrator.compile.step import StepProgram, with_smaller_batch
from orchestrator.core.memory_fit import MemoryFit, NoFit
from orchestrator.extensions.tpu_compiler.compiler_output import reported_bytes
from orchestrator.extensions.tpu_compiler.tpu_programs import (
    NoProgramError,
    TpuProgram,
    TpuPrograms,
    refusal_in,
)


class TpuMemoryCompiler:
    """The memory that programs take, by the TPU compiler, and a cache of its answers.

    Args:
        compiles: False: answer from the cache alone.
        finds_largest: find the largest batch that fits, and not only a half of one that does not.
    """

    def __init__(self, programs: TpuPrograms, *, compiles: bool, finds_largest: bool = False) -> None:
        self._programs = programs
        self._finds_largest = finds_largest
        self._compiles = compiles

    def find_fit(self, step: StepProgram) -> MemoryFit | NoFit:
        """Return the memory of a step on one replica, or the reason why it is not known."""
        return with_smaller_batch(step, self._fit_or_reason, finds_largest=self._finds_largest)

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process of a trainer."""
        return self._programs.obstacle(step) is not None or self._programs.is_captured(step)

    def _fit_or_reason(self, step: StepProgram) -> MemoryFit | NoFit:
        if obstacle := self._programs.obstacle(step):
            return NoFit(reason=obstacle)
        try:
            return self._fit(self._programs.build_program(step))
        except (NoProgramError, ChildError, OSError) as error:  # a full disk, too
            return NoFit(reason=str(error))

    def _fit(self, program: TpuProgram) -> MemoryFit | NoFit:
        key = hash_key("memory", program.key, program.target.granted_bytes)
        fit = self._programs.cache.fit(key)
        if fit is None:
            if not self._compiles:
                return NoFit(reason="not compiled yet")
            fit = self._compiled(program)
            self._programs.cache.keep_fit(key, fit)
        return fit

    def _compiled(self, program: TpuProgram) -> MemoryFit:
        """Compile until memory is assigned; machine code is not waited for. Raises ChildError."""
        enough = self._programs.compiled(program, is_enough=lambda dump: _needed_bytes(dump) is not None)
        with enough as (dump, lines):
            needed = _needed_bytes(dump)
        if needed is None:
            raise refusal_in(lines, otherwise="it reported no memory")
        return MemoryFit(
            needed_bytes=needed, granted_bytes=program.target.granted_bytes, compiler=program.compiler
        )


def _needed_bytes(dump: Path) -> int | None:
    reports = dump.glob("*memory-usage-report.txt")
    return next(filter(None, (reported_bytes(path.read_text()) for path in reports)), None)
