"""A training step for the question of its memory, and the process of its trainer that traces it."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.compile.child import ChildError, ChildProcess, Limits
from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.memory_fit import MemoryFit, NoFit, TensorCount
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import Option
from orchestrator.execute.machine.child_process import link_code
from orchestrator.train.capture.request import REFUSED, CaptureRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgram:
    """A training step that a trainer would run on a device.

    Attributes:
        options: the trainer's options.
        environment: the trainer's, on this host.
        num_workers, num_hosts: devices of the trial, and machines over which they are spread.
        can_divide: True if its micro batches train what the whole batch does.
        list_lighter: lists words, requests and workers of steps that take less memory, the cheapest in time
            first.
    """

    trainer: str
    options: Mapping[str, Option]
    environment: TrainerEnvironment
    request: CaptureRequest
    device: Device
    num_workers: int
    num_hosts: int = 1
    can_divide: bool = False
    list_lighter: Callable[[], Iterable[tuple[str, CaptureRequest, int]]] = tuple

    @property
    def replicas(self) -> int:
        """Number of replicas that share a batch."""
        return self.num_workers * self.device.replicas

    @property
    def shards(self) -> int:
        """Replicas over which weights are sharded; 1: each has all of them."""
        return self.request.memory_settings.count_shards(self.replicas, self.num_hosts)


V = TypeVar("V", MemoryFit, TensorCount)


_RESOLUTION = 32


def with_smaller_batch(
    step: StepProgram, find_fit: Callable[[StepProgram], V | NoFit], *, finds_largest: bool
) -> V | NoFit:
    """Return the verdict on a step; one that does not fit gets a smaller batch that does, if there is one.

    Args:
        finds_largest: False: the first of its half, quarter, ...; True: the largest, to a 32nd of it.
    """
    fit = find_fit(step)
    is_divided = (
        step.request.memory_settings.count_passes(_find_share(step)) > 1
    )  # a smaller batch holds no less
    if isinstance(fit, NoFit) or fit.fits or is_divided:
        return fit

    def fits(batch: int) -> bool:
        return _is_sure(find_fit(replace(step, request=replace(step.request, global_batch_size=batch))))

    batch = _half_that_fits(step, fits)
    if batch and finds_largest:
        batch = _largest_that_fits(batch, 2 * batch, step.replicas, fits)
    return replace(fit, batch_that_fits=batch) if batch else fit


def with_smaller_micro_batch(
    step: StepProgram, fit: TensorCount, find_fit: Callable[[StepProgram], TensorCount | NoFit]
) -> TensorCount:
    """Return the verdict on a step that does not fit, with a half, quarter, ... of its share that does.

    Where no smaller batch fits, no micro batch does, beside which gradients are held.
    """
    is_divided = step.request.memory_settings.count_passes(_find_share(step)) > 1
    most = math.inf if is_divided else (fit.batch_that_fits or 0) // step.replicas
    for size, divided in _list_divided(step):
        if size <= most and _is_sure(find_fit(divided)):
            return replace(fit, micro_batch_that_fits=size)
    return fit


def with_lighter_settings(
    step: StepProgram, fit: TensorCount, find_fit: Callable[[StepProgram], TensorCount | NoFit]
) -> TensorCount:
    """Return the verdict on a step that no micro batch makes fit, with the first lighter settings that fit.

    Where a smallest micro batch does not fit either, only the whole share is tried.
    """
    for words, request, num_workers in step.list_lighter():
        whole = replace(step, request=request, num_workers=num_workers)
        divided = _list_divided(whole) if step.can_divide else []
        if divided and not _is_sure(find_fit(divided[-1][1])):
            divided = []
        for tried, size in ((whole, ""), *((one, f" micro_batch_size={size}") for size, one in divided)):
            if _is_sure(find_fit(tried)):
                return replace(fit, settings_that_fit=f"{words}{size}")
    return fit


def _list_divided(step: StepProgram) -> list[tuple[int, StepProgram]]:
    """List the steps in smaller and smaller micro batches that divide those of a step, or its share."""
    found = []
    size = step.request.memory_settings.micro_batch_size or _find_share(step)
    while size > 1:
        size //= next(divisor for divisor in range(2, size + 1) if size % divisor == 0)
        settings = replace(step.request.memory_settings, micro_batch_size=size)
        found.append((size, replace(step, request=replace(step.request, memory_settings=settings))))
    return found


def _find_share(step: StepProgram) -> int:
    return step.request.global_batch_size // step.replicas


def _is_sure(fit: MemoryFit | TensorCount | NoFit) -> bool:
    return not isinstance(fit, NoFit) and fit.is_sure_to_fit


def _half_that_fits(step: StepProgram, fits: Callable[[int], bool]) -> int | None:
    share = _find_share(step)
    while share > 1:
        share //= 2
        if fits(share * step.replicas):
            return share * step.replicas
    return None


def _largest_that_fits(fitting: int, too_large: int, replicas: int, fits: Callable[[int], bool]) -> int:
    """Bisect between a batch that fits and one that does not, in whole numbers of samples a replica."""
    while too_large - fitting > max(replicas, fitting // _RESOLUTION):
        middle = (fitting + too_large) // 2 // replicas * replicas
        if middle == fitting:
            break
        fitting, too_large = (middle, too_large) if fits(middle) else (fitting, middle)
    return fitting


def start_trainer(
    module: str, step: StepProgram, *, folder: Path, variables: Mapping[str, str], limits: Limits
) -> ChildProcess:
    """Start a module of ours in the trainer's own environment.

    Args:
        folder: an empty one, which the module gets as its argument.

    Raises:
        ChildError: it did not start.
    """
    link_code(folder / "code")
    return ChildProcess(
        [step.environment.python, "-P", "-m", module, str(folder)],
        variables={**os.environ, **variables, "PYTHONPATH": str(folder / "code")},
        folder=folder,
        limits=limits,
        cwd=Path.cwd(),  # as a trial's workers, for workloads that read files by relative paths
    )


def ask_trainer(
    child: ChildProcess, step: StepProgram, request: CaptureRequest, *, keys: Set[str]
) -> dict[str, Any]:
    """Ask a module that `start_trainer` started, and return its answer.

    Args:
        keys: keys of an answer.

    Raises:
        ChildError: no answer, or the step cannot be traced.
    """
    lines = child.ask(
        codec.to_json(request),
        is_enough=lambda lines: answers_in(lines).keys() >= keys or REFUSED in answers_in(lines),
    )
    answer = answers_in(lines)
    if not answer.keys() >= keys:
        reason = answer.get(REFUSED, "its process gave no answer")
        raise ChildError(f"the step of {step.trainer} cannot be traced: {reason}")
    return answer


def answers_in(lines: Sequence[str]) -> dict[str, Any]:
    """Merge the JSON objects among a child's lines; frameworks print others."""
    merged: dict[str, Any] = {}
    for line in lines:
        with contextlib.suppress(ValueError):
            merged |= json.loads(line) if line.startswith("{") else {}
    return merged
