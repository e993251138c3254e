"""(training step, TPU) -> the time of the step, as the TPU's own compiler estimates it."""

from orchestrator.compile.cache import hash_key
from orchestrator.compile.child import ChildError
from orchestrator.compile.step import StepProgram
from orchestrator.core.device import Device
from orchestrator.core.estimate import NOT_ASKED, CompiledStep, NotCompiled
from orchestrator.extensions.tpu_compiler.program_cost import ProgramCost, UnpricedProgramError, program_cost
from orchestrator.extensions.tpu_compiler.targets import find_target
from orchestrator.extensions.tpu_compiler.tpu_programs import (
    NoProgramError,
    TpuProgram,
    TpuPrograms,
    refusal_in,
)

"""The answer for a step that may be compiled, and was not."""

_HOST_SECONDS = 5e-3
"""A host may need as long to start one step: an assumption. A shorter step may wait for the host."""


class TpuStepCompiler:
    """The cycles of programs by the TPU compiler, and a cache of its answers.

    Args:
        compiles: False: answer from the cache alone.
    """

    def __init__(self, programs: TpuPrograms, *, compiles: bool) -> None:
        self._programs = programs
        self.compiles = compiles

    def predict_step(self, step: StepProgram) -> CompiledStep | NotCompiled:
        """Return the time of a step, or the reason why it is not known."""
        if obstacle := self.obstacle(step):
            return NotCompiled(reason=obstacle)
        try:
            program = self._programs.build_program(step)
            compiled = step_of_cost(self._cost(program), program, step.device)
        except (NoProgramError, UnpricedProgramError, ChildError, OSError) as error:
            return NotCompiled(reason=str(error))
        if compiled.host_seconds is None and compiled.on_device_seconds < _HOST_SECONDS:
            return NotCompiled(
                reason=f"the host's part of {step.trainer} is not known, and the device's is below "
                f"{1e3 * _HOST_SECONDS:g} ms"
            )
        return compiled

    def cancel(self) -> None:
        """Kill the compilers that run, from another thread."""
        self._programs.cancel()

    def obstacle(self, step: StepProgram) -> str | None:
        """Explain why the time of a step cannot be known at all; None if it may be."""
        return self._programs.obstacle(step) or _explain_unknown(step.device)

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process."""
        if self.obstacle(step) is not None:
            return True
        if not self._programs.is_captured(step):
            return False
        try:
            return self._programs.cache.cost(_key(self._programs.build_program(step))) is not None
        except NoProgramError:
            return True

    def _cost(self, program: TpuProgram) -> ProgramCost:
        key = _key(program)
        cost = self._programs.cache.cost(key)
        if cost is None:
            if not self.compiles:
                raise NoProgramError(NOT_ASKED.reason)
            cost = self._compiled(program)
            self._programs.cache.keep_cost(key, cost)
        return cost

    def _compiled(self, program: TpuProgram) -> ProgramCost:
        """Compile to machine code. Raises ChildError and UnpricedProgramError."""
        with self._programs.compiled(program) as (dump, lines):
            texts = sorted(dump.glob("*after_codegen.txt"), key=lambda path: path.stat().st_size)
            if not texts:
                raise refusal_in(lines, otherwise="it wrote no program")
            return program_cost(texts[-1].read_text())  # the others are parts that it compiles on the way


def _explain_unknown(device: Device) -> str | None:
    target = find_target(device)
    if target is None or target.clock_hertz is None:
        return f"the unit of the TPU compiler's cycles is not known for {device.name}"
    if device.memory_bytes_per_second is None:
        return f"the bandwidth of {device.name} is unknown: memory_bytes_per_second in its file"
    if device.chips > 1 and device.link_bytes_per_second is None:
        return f"the links of {device.name} are unknown: link_bytes_per_second in its file"
    return None


def _key(program: TpuProgram) -> str:
    return hash_key("cost", program.key)


def step_of_cost(cost: ProgramCost, program: TpuProgram, device: Device) -> CompiledStep:
    """Turn cycles and bytes into seconds.

    The bandwidth of the memory belongs to all replicas of a device. An exchange of B bytes over n chips
    moves 2 (n - 1) / n x B over a chip's links (a ring), which carry data both ways.
    """
    assert program.target.clock_hertz is not None
    assert device.memory_bytes_per_second is not None
    replica_bandwidth = device.memory_bytes_per_second / device.replicas
    moved = 2 * (device.chips - 1) / device.chips * cost.exchanged_bytes
    return CompiledStep(
        device_seconds=cost.cycles / program.target.clock_hertz,
        unpriced_seconds=sum(cost.unpriced_bytes.values()) / replica_bandwidth,
        link_seconds=moved / (device.link_bytes_per_second / 2) if device.link_bytes_per_second else 0.0,
        host_seconds=program.host_seconds,
        compiler=program.compiler,
    )
