"""A training step whose memory is asked about, and the process of its trainer that traces it."""

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.compile.child import ChildError, Limits, run_child
from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.memory_fit import MemoryFit, NoFit, TensorCount
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import Option
from orchestrator.execute.machine.child_process import link_code
from orchestrator.train.capture.request import CaptureRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgram:
    """A training step that a trainer would run on a device.

    Attributes:
        options: the trainer's options.
        environment: the trainer's, on this host.
        num_workers: devices of the trial.
    """

    trainer: str
    options: Mapping[str, Option]
    environment: TrainerEnvironment
    request: CaptureRequest
    device: Device
    num_workers: int

    @property
    def replicas(self) -> int:
        """Number of replicas that share a batch."""
        return self.num_workers * self.device.replicas


V = TypeVar("V", MemoryFit, TensorCount)


def with_smaller_batch(step: StepProgram, fit_of: Callable[[StepProgram], V | NoFit]) -> V | NoFit:
    """Return the verdict on a step; one that does not fit gets the first half, quarter, ... that does."""
    fit = fit_of(step)
    if isinstance(fit, NoFit) or fit.fits:
        return fit
    batch = step.request.global_batch_size
    while batch % (2 * step.replicas) == 0:
        batch //= 2
        tried = fit_of(replace(step, request=replace(step.request, global_batch_size=batch)))
        if isinstance(tried, NoFit):
            break
        if tried.fits:
            return replace(fit, batch_that_fits=batch)
    return fit


def ask_trainer(
    module: str,
    step: StepProgram,
    request: CaptureRequest,
    *,
    keys: Set[str],
    folder: Path,
    variables: Mapping[str, str],
    limits: Limits,
) -> dict[str, Any]:
    """Run a module of ours in the trainer's own environment, and return its answer.

    Args:
        keys: keys of an answer.
        folder: an empty one, which the module gets as its argument.

    Raises:
        ChildError: no answer, or the step cannot be traced.
    """
    link_code(folder / "code")
    lines = run_child(
        [step.environment.python, "-P", "-m", module, str(folder)],
        request=codec.to_json(request),
        variables={**os.environ, **variables, "PYTHONPATH": str(folder / "code")},
        folder=folder,
        limits=limits,
    )
    answer = answers_in(lines)
    if not answer.keys() >= keys:
        reason = answer.get("error", "its process gave no answer")
        raise ChildError(f"the step of {step.trainer} cannot be traced: {reason}")
    return answer


def answers_in(lines: Sequence[str]) -> dict[str, Any]:
    """Merge the JSON objects among a child's lines; frameworks print others."""
    merged: dict[str, Any] = {}
    for line in lines:
        with contextlib.suppress(ValueError):
            merged |= json.loads(line) if line.startswith("{") else {}
    return merged
