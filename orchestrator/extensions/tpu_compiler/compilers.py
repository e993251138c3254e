"""The compilers that the extension adds."""

from orchestrator.compile.compilers import CompilerSettings, StepCompilers
from orchestrator.extensions.tpu_compiler.memory import TpuMemoryCompiler
from orchestrator.extensions.tpu_compiler.step_time import TpuStepCompiler
from orchestrator.extensions.tpu_compiler.tpu_programs import TpuPrograms


def build_compilers(settings: CompilerSettings) -> StepCompilers:
    """Build the compilers of memory and time, which share the programs that were captured."""
    compiling, compiles = settings.compiling, settings.compiles
    programs = TpuPrograms(
        python=compiling.python,
        folder=settings.folder,
        limits=settings.limits,
        code_sha256=settings.code_sha256,
        captures=compiles,
    )
    return StepCompilers(
        kind="tpu",
        memory=TpuMemoryCompiler(programs, compiles=compiles, finds_largest=compiling.largest_batch),
        time=TpuStepCompiler(programs, compiles=compiles and compiling.stage == "full"),
    )
