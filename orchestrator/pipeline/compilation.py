"""Ask compilers about the memory and the time of a plan's steps, before any trial starts."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from orchestrator.analysis.formatting import counted
from orchestrator.compile.child import Limits
from orchestrator.compile.compilers import CompilerSettings, MemoryCompiler, NoCompiler, TimeCompiler
from orchestrator.compile.step import StepProgram
from orchestrator.compile.tensors import GpuTensorCounter
from orchestrator.core.device import Device, DeviceKind
from orchestrator.core.estimate import CompiledStep, NotCompiled
from orchestrator.core.memory_fit import NOT_COUNTED, NoFit, Verdict, choose_fit
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.execute.machine.agent import OWN_PYTHON
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.extension import load_parts
from orchestrator.pipeline.preflight import PreflightState, find_origins, hash_code
from orchestrator.plan.compatibility import find_reason_against_passes
from orchestrator.plan.lighter_settings import list_lighter_settings
from orchestrator.plan.memory import MemoryKey, memory_key
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.registry import trainer_info
from workloads.data.sources import default_cache
from workloads.origins import Origin
from workloads.registry import cached_workload

_GIB = 2**30
_PROCESSES = max(1, (os.cpu_count() or 2) // 2)
"""Compilers at once; one takes up to 4 GB of memory, and now and then more than one core."""

OnMessage = Callable[[str], None]
"""Prints one line for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilers:
    """Compilers that answer questions about steps, by kind of device; `close` ends their process."""

    memory: Mapping[DeviceKind, MemoryCompiler]
    time: Mapping[DeviceKind, TimeCompiler]
    close: Callable[[], None]


def with_compilers(
    preflight: PreflightState, settings: Settings, decided: Plan, *, compiles: bool, on_message: OnMessage
) -> PreflightState:
    """Add whether the steps of a plan's GPU and TPU trials fit, and how long those of absent TPUs take.

    Times that were compiled earlier are used in every stage; new ones are compiled in the stage `full`. Of
    trials that are left out as their device is absent, only what is known already is used.

    Args:
        compiles: False: use earlier answers only, and start no process.
    """
    compilers = find_compilers(settings, preflight.driver["code_sha256"], compiles=compiles)
    placed = [placement.trial for placement in decided.placements if placement.trains]
    steps = _find_steps(placed, settings, preflight)
    training = [trial for trial in decided.absent if trainer_info(trial.trainer).trains]
    absent = _find_steps(training, settings, preflight)
    number = sum(not compilers.memory[step.device.kind].knows(step) for step in steps.values())
    if compiles and number:
        on_message(f"memory: asking about {counted(number, 'step')}; compile=off asks nothing")
    with closing(compilers):
        fits = {
            key: compilers.memory[step.device.kind].find_fit(step)
            if key in steps or compilers.memory[step.device.kind].knows(step)
            else NOT_COUNTED
            for key, step in {**absent, **steps}.items()
        }
    compiled: dict[MemoryKey, CompiledStep | NotCompiled] = {}
    for kind, compiler in compilers.time.items():
        asked = {key: step for key, step in absent.items() if step.device.kind == kind}
        compiled |= _compiled(asked, compiler, compiles, on_message)
    return replace(preflight, memory_fits=fits, compiled_steps=compiled)


def with_answers(record: TrialRecord, preflight: PreflightState) -> TrialRecord:
    """Add the answers of compilers about its step to a record."""
    key = memory_key(record.spec)
    answer = preflight.compiled_steps.get(key)
    return replace(
        record,
        memory=preflight.memory_fits.get(key),
        compiled=answer if isinstance(answer, CompiledStep) else None,
    )


FindAnswers = Callable[[Iterable[Point]], tuple[CompiledStep | None, Verdict | NoFit | None]]
"""Finds the compiled step, and the verdict on the memory, of points that differ in their trainer alone."""


def find_earlier_answers(settings: Settings) -> FindAnswers:
    """Return a function that uses what plans and sweeps compiled and counted earlier, and starts nothing."""
    if not settings.asks_compiler:
        return lambda _: (None, None)
    compilers = find_compilers(settings, hash_code(settings), compiles=False)
    environments = cache(partial(_build_environment, settings))
    origins = find_origins(settings)

    def find_answers(points: Iterable[Point]) -> tuple[CompiledStep | None, Verdict | NoFit | None]:
        steps = [
            _build_program(point, point.device, environments(point.trainer), origins[point.workload])
            for point in points
            if point.device.kind != "cpu" and not point.other_devices
        ]
        times = (
            compilers.time[step.device.kind].predict_step(step)
            for step in steps
            if step.device.kind in compilers.time
        )
        compiled = next((answer for answer in times if isinstance(answer, CompiledStep)), None)
        # lighter settings would have to be described, which takes minutes for a large model
        fits = [
            compilers.memory[step.device.kind].find_fit(replace(step, list_lighter=tuple)) for step in steps
        ]
        return compiled, choose_fit(fits)

    return find_answers


def find_compilers(settings: Settings, code_sha256: str, *, compiles: bool) -> Compilers:
    """Build the count of tensors for GPUs, and the compilers of extensions."""
    compiling = settings.compiling
    limits = Limits(seconds=compiling.seconds, memory_bytes=round(compiling.memory_gib * _GIB))
    asked = CompilerSettings(
        compiling=compiling,
        folder=_folder(),
        limits=limits,
        code_sha256=code_sha256,
        compiles=compiles,
    )
    added = [build(asked) for build in load_parts("step_compilers")]
    counter = GpuTensorCounter(
        folder=_folder(),
        limits=limits,
        code_sha256=code_sha256,
        compiles=compiles,
        finds_largest=compiling.largest_batch,
    )
    none = NoCompiler()
    memory: dict[DeviceKind, MemoryCompiler] = {"gpu": counter, "tpu": none, "accelerator": none}
    return Compilers(
        memory=memory | {compilers.kind: compilers.memory for compilers in added},
        time={compilers.kind: compilers.time for compilers in added},
        close=counter.close,
    )


def _folder() -> Path:
    return default_cache() / "compiled"


def _compiled(
    steps: Mapping[MemoryKey, StepProgram], compiler: TimeCompiler, compiles: bool, on_message: OnMessage
) -> Mapping[MemoryKey, CompiledStep | NotCompiled]:
    """Return the times of steps; several are compiled at once, and every answer is kept at once."""
    known = {key: compiler.predict_step(step) for key, step in steps.items() if compiler.knows(step)}
    asked = {key: step for key, step in steps.items() if key not in known}
    if not asked or not compiles or not compiler.compiles:
        return known
    on_message(
        f"time: compiling {counted(len(asked), 'step')} for TPUs, {counted(_PROCESSES, 'process')} at once"
    )
    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=_PROCESSES) as pool:
        futures = {pool.submit(compiler.predict_step, step): key for key, step in asked.items()}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                known[futures[future]] = future.result()
                left = (time.monotonic() - start) / done * (len(asked) - done)
                on_message(f"time: {done} of {counted(len(asked), 'step')} compiled, about {left:.0f} s left")
        except BaseException:
            compiler.cancel()
            pool.shutdown(cancel_futures=True)
            raise
    return {key: known[key] for key in steps}


def _find_steps(
    trials: Iterable[TrialSpec], settings: Settings, preflight: PreflightState
) -> Mapping[MemoryKey, StepProgram]:
    """Return every step of trials on GPUs or TPUs, once."""
    origins = find_origins(settings)
    environments = {
        name: _build_environment(settings, name)
        if preflight.environments[name].python == OWN_PYTHON
        else preflight.environments[name]
        for name in settings.trainers
    }
    alike = {
        memory_key(trial): trial
        for trial in trials
        if not trial.other_devices and settings.sweep.devices[trial.device].kind != "cpu"
    }
    return {
        key: _build_program(
            trial,
            settings.sweep.devices[trial.device],
            environments[trial.trainer],
            origins[trial.workload],
        )
        for key, trial in alike.items()
    }


def _build_environment(settings: Settings, trainer: str) -> TrainerEnvironment:
    return trainer_environment(trainer_info(trainer), python=settings.trainers[trainer].python)


def _build_program(
    asked: TrialSpec | Point, device: Device, environment: TrainerEnvironment, origin: Origin
) -> StepProgram:
    request = CaptureRequest(
        workload=asked.workload,
        workload_options=asked.workload_options,
        precision=asked.precision,
        global_batch_size=asked.global_batch_size,
        memory_settings=asked.memory_settings,
        origin=origin,
    )
    return StepProgram(
        trainer=asked.trainer,
        options=asked.trainer_options,
        environment=environment,
        request=request,
        device=device,
        num_workers=asked.num_workers,
        num_hosts=asked.num_hosts or 1,
        can_divide=find_reason_against_passes(cached_workload(asked.workload, asked.workload_options))
        is None,
        list_lighter=partial(_list_lighter, request, asked.num_workers, device.replicas),
    )


def _list_lighter(
    request: CaptureRequest, num_workers: int, replicas: int
) -> Iterator[tuple[str, CaptureRequest, int]]:
    """Yield words, requests and numbers of workers of steps that take less memory."""
    asked = request.workload, request.workload_options, request.memory_settings
    batch = request.global_batch_size
    for lighter in list_lighter_settings(
        *asked, num_workers=num_workers, replicas=replicas, global_batch_size=batch
    ):
        options, memory = lighter.workload_options, lighter.memory_settings
        changed = replace(request, workload_options=options, memory_settings=memory)
        yield lighter.words, changed, lighter.num_workers
