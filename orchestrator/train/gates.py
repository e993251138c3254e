"""(placement, result) -> why the result cannot be believed, or None. Pure.

A result that does not show what was asked for, or whose numbers contradict each other, is refused: it becomes
a failure that carries it, never a relabelled result. That rate x time gives the samples back follows from two
gates: samples are steps x batch, and the timed steps are among the steps taken.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.core.errors import FailureKind
from orchestrator.core.interval import median_interval
from orchestrator.core.placement import Placement
from orchestrator.core.result import Failure, TrainResult

_ROUNDING = 1e-6  # relative: sums of differences of one clock against one difference


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A result and what it is judged by."""

    placement: Placement
    result: TrainResult
    driver_names: tuple[str, ...]
    peak_flops_per_second: float | None


Gate = Callable[[_Case], str | None]
"""The violation in one line, with both numbers; None if there is none."""


def failure_of(
    placement: Placement,
    result: TrainResult,
    *,
    driver_names: tuple[str, ...],
    peak_flops_per_second: float | None,
) -> Failure | None:
    """The failure that a result deserves, with the result inside, or None for one that passes all gates.

    A rehearsal is two steps on a stand-in: of it, only what it ran on and what it counted is judged.

    Args:
        driver_names: what the driver may call the device that was asked for; none: any name passes.
        peak_flops_per_second: dense peak of one such device in this precision; None: MFU is not judged.
    """
    case = _Case(
        placement=placement,
        result=result,
        driver_names=driver_names,
        peak_flops_per_second=peak_flops_per_second,
    )
    gates = _REHEARSAL_GATES if placement.provenance == "rehearsed" else _ALL_GATES
    violations = [(kind, violation) for kind, gate in gates if (violation := gate(case))]
    if not violations:
        return None
    gravest = violations[0][0]
    message = "; ".join(violation for kind, violation in violations if kind == gravest)
    return Failure(kind=gravest, message=message, refused=result)


def _kind(case: _Case) -> str | None:
    asked = case.placement.kind
    found = {each.kind for each in case.result.devices} - {asked}
    return f"trial asks for a {asked}; it ran on a {', '.join(sorted(found))}" if found else None


def _name(case: _Case) -> str | None:
    names = _names_of(case)
    found = {each.name for each in case.result.devices} - set(names)
    if not names or not found:
        return None
    return (
        f"trial asks for {case.placement.trial.device}, which its driver calls "
        f"{' or '.join(map(repr, names))}; it ran on {', '.join(map(repr, sorted(found)))}"
    )


def _names_of(case: _Case) -> tuple[str, ...]:
    """A CPU is the one of the host that the trial was planned for; its id ends with the number of cores."""
    host_cpu = case.placement.trial.host_cpu
    return case.driver_names if host_cpu is None else (host_cpu.rpartition(" x")[0],)


def _precision(case: _Case) -> str | None:
    asked = case.placement.precision
    found = {each.precision for each in case.result.devices} - {asked}
    return f"trial asks for {asked}; its arithmetic was {', '.join(sorted(found))}" if found else None


def _finite_losses(case: _Case) -> str | None:
    for step, loss in case.result.losses:
        if not math.isfinite(loss):
            return f"the loss is {loss} after step {step}"
    return None


def _finite_quality(case: _Case) -> str | None:
    for name, value in case.result.quality.items():
        if not math.isfinite(value):
            return f"the {name} is {value}"
    return None


def _replicas(case: _Case) -> str | None:
    asked, found = case.placement.replicas, sum(each.count for each in case.result.devices)
    return None if found == asked else f"trial asks for {asked} replicas; its workers drove {found} devices"


def _samples(case: _Case) -> str | None:
    batch, steps, counted = case.placement.trial.global_batch_size, case.result.steps, case.result.samples
    if counted == steps * batch:
        return None
    return f"{steps} steps of {batch} samples are {steps * batch}; the trainers counted {counted}"


def _steps(case: _Case) -> str | None:
    asked, taken = case.placement.trial.steps, case.result.steps
    if taken >= asked or (case.result.pursuit and case.result.pursuit.reached):
        return None
    return f"trial asks for {asked} steps; {taken} were taken"


def _target(case: _Case) -> str | None:
    """A training ends at the very target that was asked for, and its way there lies within it."""
    asked, pursuit, result = case.placement.trial.timing.target, case.result.pursuit, case.result
    found = pursuit.target.value if pursuit else None
    if asked != found:
        return f"trial asks for the target {asked}; its training pursued {found}"
    for each in pursuit.curve if pursuit else ():
        if each.steps > result.steps or each.training_seconds > result.training_seconds * (1 + _ROUNDING):
            return (
                f"quality was found after step {each.steps} and {each.training_seconds:g} s of a training of "
                f"{result.steps} steps and {result.training_seconds:g} s"
            )
    return None


def _blocks(case: _Case) -> str | None:
    counts = {len(blocks) for blocks in case.result.block_seconds}
    if len(counts) > 1:
        return f"ranks timed different numbers of blocks: {sorted(counts)}"
    if len(case.result.block_seconds) != len(case.result.devices) or counts == {0}:
        return f"{len(case.result.devices)} ranks; blocks timed by each: {sorted(counts) or 'none'}"
    return None


def _block_seconds(case: _Case) -> str | None:
    wrong = [each for blocks in case.result.block_seconds for each in blocks if not 0 < each < math.inf]
    return f"a block took {wrong[0]} s; it must take more than 0" if wrong else None


def _timed_steps(case: _Case) -> str | None:
    result = case.result
    num_blocks = max(map(len, result.block_seconds), default=0)
    timed = 1 + result.warmup_steps + num_blocks * result.steps_per_block
    return f"{timed} steps were timed; {result.steps} were taken" if timed > result.steps else None


def _timed_seconds(case: _Case) -> str | None:
    timed = max(map(sum, case.result.block_seconds), default=0.0)
    whole = case.result.training_seconds
    return (
        f"blocks took {timed:g} s of a training of {whole:g} s" if timed > whole * (1 + _ROUNDING) else None
    )


def _compilations(case: _Case) -> str | None:
    before, after = case.result.compile_counts or (0, 0)
    if after == before:
        return None
    return f"the compile counter grew while blocks were timed: {before} before, {after} after"


def _moving_loss(case: _Case) -> str | None:
    losses = {loss for _, loss in case.result.losses}
    if len(losses) > 1:
        return None
    return (
        f"the loss did not move: {len(case.result.losses)} readings, {', '.join(map(str, losses)) or 'none'}"
    )


def _mfu(case: _Case) -> str | None:
    """Model FLOPs utilisation of the slowest rank's median block (PaLM, Chowdhery et al. 2022, app. B)."""
    result, peak, flops = case.result, case.peak_flops_per_second, case.result.flops_per_step
    if peak is None or _blocks(case) or _block_seconds(case):
        return None
    step_seconds = max(median_interval(each).median for each in result.block_seconds) / result.steps_per_block
    mfu = flops / (step_seconds * peak * case.placement.trial.num_workers)
    return None if 0 < mfu <= 1 else f"MFU is {mfu:.3g}; it must lie above 0 and not above 1"


_REHEARSAL_GATES: tuple[tuple[FailureKind, Gate], ...] = (
    ("device_mismatch", _kind),
    ("device_mismatch", _precision),
    ("diverged", _finite_losses),
    ("diverged", _finite_quality),
    ("invalid_measurement", _replicas),
    ("invalid_measurement", _samples),
)
_ALL_GATES: tuple[tuple[FailureKind, Gate], ...] = (
    ("device_mismatch", _name),
    *_REHEARSAL_GATES,
    ("invalid_measurement", _steps),
    ("invalid_measurement", _target),
    ("invalid_measurement", _blocks),
    ("invalid_measurement", _block_seconds),
    ("invalid_measurement", _timed_steps),
    ("invalid_measurement", _timed_seconds),
    ("invalid_measurement", _compilations),
    ("invalid_measurement", _moving_loss),
    ("invalid_measurement", _mfu),
)
"""The gravest first: a result of the wrong device says nothing by its numbers."""
