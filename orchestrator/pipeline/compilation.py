"""Ask whether the steps of a plan's trials fit their devices' memory, before any of them starts."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from orchestrator.analysis.formatting import counted
from orchestrator.compile.child import Limits
from orchestrator.compile.memory import TpuMemoryCompiler
from orchestrator.compile.step import StepProgram
from orchestrator.compile.tensors import GpuTensorCounter
from orchestrator.core.device import DeviceKind
from orchestrator.core.placement import Plan
from orchestrator.core.settings import Settings
from orchestrator.execute.machine.agent import OWN_PYTHON
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.pipeline.preflight import PreflightState, origins_of
from orchestrator.plan.memory import MemoryKey, memory_key
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.registry import trainer_info
from workloads.data.sources import default_cache

_GIB = 2**30

Say = Callable[[str], None]
"""Prints one line for a person."""


def with_memory(
    preflight: PreflightState, settings: Settings, decided: Plan, *, compiles: bool, say: Say
) -> PreflightState:
    """Add whether the steps of a plan's GPU and TPU trials fit.

    Args:
        compiles: False: use earlier answers only, and start no process.
    """
    steps = _steps_of(decided, settings, preflight)
    folder, code_sha256 = default_cache() / "compiled", preflight.driver["code_sha256"]
    limits = Limits(
        seconds=settings.compiling.seconds, memory_bytes=round(settings.compiling.memory_gib * _GIB)
    )
    sources: Mapping[DeviceKind, TpuMemoryCompiler | GpuTensorCounter] = {
        "tpu": TpuMemoryCompiler(
            python=settings.compiling.python,
            folder=folder,
            limits=limits,
            code_sha256=code_sha256,
            compiles=compiles,
        ),
        "gpu": GpuTensorCounter(folder=folder, limits=limits, code_sha256=code_sha256, compiles=compiles),
    }
    number = sum(not sources[step.device.kind].knows(step) for step in steps.values())
    if compiles and number:
        say(f"memory: asking about {counted(number, 'step')}; compile=off asks nothing")
    fits = {key: sources[step.device.kind].fit_of(step) for key, step in steps.items()}
    return replace(preflight, memory_fits=fits)


def asks_compiler(settings: Settings) -> bool:
    """Return whether a sweep has accelerators whose memory is asked about."""
    has_any = any(device.kind != "cpu" for device in settings.sweep.devices.values())
    return has_any and settings.compiling.stage != "off"


def _steps_of(
    decided: Plan, settings: Settings, preflight: PreflightState
) -> Mapping[MemoryKey, StepProgram]:
    """Return every step of a trial on GPUs or TPUs that would run, once."""
    origins = origins_of(settings)
    environments = {
        name: trainer_environment(trainer_info(name), python=chosen.python)
        if preflight.environments[name].python == OWN_PYTHON
        else preflight.environments[name]
        for name, chosen in settings.trainers.items()
    }
    placements = {
        memory_key(placement.trial): placement
        for placement in decided.placements
        if placement.trains
        and not placement.trial.other_devices
        and settings.sweep.devices[placement.trial.device].kind != "cpu"
    }
    return {
        key: StepProgram(
            trainer=placement.trial.trainer,
            options=placement.trial.trainer_options,
            environment=environments[placement.trial.trainer],
            request=CaptureRequest(
                workload=placement.trial.workload,
                workload_options=placement.trial.workload_options,
                precision=placement.trial.precision,
                global_batch_size=placement.trial.global_batch_size,
                origin=origins[placement.trial.workload],
            ),
            device=settings.sweep.devices[placement.trial.device],
            num_workers=placement.trial.num_workers,
        )
        for key, placement in placements.items()
    }
