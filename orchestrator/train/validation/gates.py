"""(placement, result) -> why the result cannot be believed, or None. Pure.

A result that does not show what was asked for, or contradicts itself, is refused: it becomes a failure that
carries it, never a relabelled result. That rate x time gives the samples back follows from two
gates: samples are steps x batch, and the timed steps are among the steps taken.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.core.errors import FailureKind
from orchestrator.core.interval import median_interval
from orchestrator.core.placement import Placement, RankGroup
from orchestrator.core.result import DeviceFacts, Failure, TrainResult
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import LEAST_LOSSES

_ROUNDING = 1e-6  # relative: sums of differences of one clock against one difference
_BUSY_STEPS = 0.25
"""Steps: a device that worked on for less than this after its clock had stopped may have been idle."""
_BUSY_SECONDS = 1e-3
"""So may a device with a first reading that took this much longer in the median block."""
_STALLED_SECONDS = 20e-3
_STALLED_BLOCKS = 0.25
_MANY_STALLED = 8
"""Longer readings in fewer blocks may be the host's doing, unless they are longer than this in so many of the
blocks, and in three, or in so many blocks of however many. Of twelve equal readings the three longest are all
first ones in one case of eleven, and the eight longest of many in one case of 256 or fewer."""
_BUSY_FRACTION = 0.02
"""Fraction of the timed seconds below which remaining device work is negligible."""

_TF32_DEFAULT = (
    ", PyTorch's default for convolutions on a GPU; ask for precision=tf32, or write "
    '`torch.backends.fp32_precision = "ieee"` into the script'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A result and what it is judged by."""

    placement: Placement
    result: TrainResult
    driver_names: Mapping[str, tuple[str, ...]]


Gate = Callable[[_Case], str | None]
"""Returns the violation in one line with both numbers, or None."""


def find_failure(
    placement: Placement,
    result: TrainResult,
    *,
    driver_names: Mapping[str, tuple[str, ...]],
) -> Failure | None:
    """Return the failure that a result deserves, with the result inside; None: it passes all gates.

    A rehearsal is two steps on a stand-in: of it, only what it ran on and what it counted is judged. A script
    that reported no step is not judged: its record names in `unchecked` what was not seen.

    Args:
        driver_names: device -> what its driver may call it; none: any name passes.
    """
    if result.run_seconds:
        return None
    case = _Case(placement=placement, result=result, driver_names=driver_names)
    gates = _REHEARSAL_GATES if placement.provenance == "rehearsed" else _ALL_GATES
    violations = [(kind, violation) for kind, gate in gates if (violation := gate(case))]
    if not violations:
        return None
    gravest = violations[0][0]
    message = "; ".join(violation for kind, violation in violations if kind == gravest)
    return Failure(kind=gravest, message=message, refused=result)


def _kind(case: _Case) -> str | None:
    for part, devices in _list_devices(case):
        if wrong := {device.kind for device in devices} - {part.kind}:
            return f"{_asker(case, part)} asks for a {part.kind}; it ran on a {', '.join(sorted(wrong))}"
    return None


def _name(case: _Case) -> str | None:
    for part, devices in _list_devices(case):
        names = _find_names(case, part)
        unexpected = {device.name for device in devices} - set(names)
        if names and unexpected:
            return (
                f"{_asker(case, part)} asks for {part.device}, which its driver calls "
                f"{' or '.join(map(repr, names))}; it ran on {', '.join(map(repr, sorted(unexpected)))}"
            )
    return None


def _find_names(case: _Case, part: RankGroup) -> tuple[str, ...]:
    """A CPU is the one of the host that the trial was planned for; its id ends with the number of cores.

    In a pool the plan names a machine type, which a processor does not know.
    """
    host_cpu = case.placement.trial.host_cpu
    if host_cpu is None or part.kind != "cpu":
        return case.driver_names.get(part.device, ())
    return () if part.pool else (host_cpu.rpartition(" x")[0],)


def _list_devices(case: _Case) -> Iterator[tuple[RankGroup, Sequence[DeviceFacts]]]:
    """Return each part of the trial, and what its ranks ran on."""
    devices = list(case.result.devices)
    *parts, last = case.placement.parts
    for part in parts:
        yield part, devices[: part.num_processes]
        del devices[: part.num_processes]
    yield last, devices


def _asker(case: _Case, part: RankGroup) -> str:
    return f"trial's part on {part.device}" if case.placement.unequal else "trial"


def _precision(case: _Case) -> str | None:
    wanted = case.placement.precision
    unexpected = {device.precision for device in case.result.devices} - {wanted}
    if not unexpected:
        return None
    is_default = (wanted, unexpected) == ("fp32", {"tf32"}) and case.placement.trial.trainer == "script"
    return f"trial asks for {wanted}; its arithmetic was {', '.join(sorted(unexpected))}" + (
        _TF32_DEFAULT if is_default else ""
    )


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
    wanted, counted = case.placement.replicas, sum(device.count for device in case.result.devices)
    return (
        None
        if counted == wanted
        else f"trial asks for {wanted} replicas; its workers drove {counted} devices"
    )


def _samples(case: _Case) -> str | None:
    batch, steps, counted = case.placement.trial.global_batch_size, case.result.steps, case.result.samples
    if counted == steps * batch:
        return None
    return f"{steps} steps of {batch} samples are {steps * batch}; the trainers counted {counted}"


def _steps(case: _Case) -> str | None:
    wanted, taken = case.placement.trial.steps, case.result.steps
    if taken >= wanted or (case.result.pursuit and case.result.pursuit.reached):
        return None
    return f"trial asks for {wanted} steps; {taken} were taken"


def _target(case: _Case) -> str | None:
    """A training ends at the very target that was asked for, and its way there lies within it."""
    target, pursuit, result = case.placement.trial.timing.target, case.result.pursuit, case.result
    reached = pursuit.target.value if pursuit else None
    if target != reached:
        return f"trial asks for the target {target}; its training pursued {reached}"
    whole = result.resumed_seconds + result.training_seconds
    for evaluation in pursuit.curve if pursuit else ():
        if evaluation.steps > result.steps or evaluation.training_seconds > whole * (1 + _ROUNDING):
            return (
                f"quality was found after step {evaluation.steps} and "
                f"{evaluation.training_seconds:g} s of a training of "
                f"{result.steps} steps and {whole:g} s"
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
    wrong = [block for blocks in case.result.block_seconds for block in blocks if not 0 < block < math.inf]
    return f"a block took {wrong[0]} s; it must take more than 0" if wrong else None


def _timed_steps(case: _Case) -> str | None:
    result = case.result
    num_blocks = max(map(len, result.block_seconds), default=0)
    timed = 1 + result.warmup_steps + num_blocks * result.steps_per_block
    taken = result.steps - result.resumed_from_step
    return f"{timed} steps were timed; {taken} were taken" if timed > taken else None


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
    is_script = trainer_info(case.placement.trial.trainer).runs_scripts
    if len(losses) > 1 or (
        is_script and len(case.result.losses) < LEAST_LOSSES
    ):  # `unchecked` names the latter
        return None
    return (
        f"the loss did not move: {len(case.result.losses)} readings, {', '.join(map(str, losses)) or 'none'}"
    )


def _moved_weights(case: _Case) -> str | None:
    unmoved = case.result.unmoved
    return f"not a single weight changed in {', '.join(unmoved)}" if unmoved else None


def _idle_device(case: _Case) -> str | None:
    """Explain that the device worked on after the clock of several blocks had stopped; None if it did not.

    Straight after a block the losses are read twice. The first reading ends when the device has finished, the
    second one shows what reading costs. Of several ranks, the last one at a reading waits for no other.

    Devices without a queue are not judged: a reading of several ranks is late there when the host is busy.
    """
    result, synchronous_on = case.result, trainer_info(case.placement.trial.trainer).synchronous_on
    has_queue = any(part.kind not in synchronous_on for part in case.placement.parts)
    if not result.reading_seconds or _blocks(case) or not has_queue:
        return None
    blocks = [max(ranks) for ranks in zip(*result.block_seconds, strict=True)]
    least = _BUSY_STEPS * median_interval(blocks).median / result.steps_per_block
    late = _late_seconds(result.reading_seconds)
    busy = [value for value in late if value > least]
    is_usual = median_interval(late).median > max(least, _BUSY_SECONDS)
    num_stalled = sum(value > _STALLED_SECONDS for value in busy)
    is_certain = num_stalled >= min(max(3, _STALLED_BLOCKS * len(blocks)), _MANY_STALLED)
    if not (is_usual or is_certain) or sum(busy) <= _BUSY_FRACTION * sum(blocks):
        return None
    return (
        f"the device was not idle when the clock of {len(busy)} of {len(blocks)} blocks stopped: "
        f"it worked on for {sum(busy):.3g} s after {sum(blocks):.3g} s were timed"
    )


def _late_seconds(readings: Sequence[Sequence[tuple[float, float]]]) -> list[float]:
    """[block] By how much the first reading outlasted every second one; of the rank that waited least."""
    costs = [max(second for _, second in rank) for rank in readings]
    return [
        min(first - cost for (first, _), cost in zip(ranks, costs, strict=True))
        for ranks in zip(*readings, strict=True)
    ]


def _mfu(case: _Case) -> str | None:
    """Model FLOPs utilisation of the slowest rank's median block (PaLM, Chowdhery et al. 2022, app. B)."""
    result = case.result
    peak = result.peaks.flops_per_second if result.peaks else None
    if peak is None or not result.flops_per_step or _blocks(case) or _block_seconds(case):
        return None
    step_seconds = (
        max(median_interval(seconds).median for seconds in result.block_seconds) / result.steps_per_block
    )
    mfu = result.flops_per_step / (step_seconds * peak)
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
    ("invalid_measurement", _moved_weights),
    ("invalid_measurement", _idle_device),
    ("invalid_measurement", _mfu),
)
"""The gravest first: the numbers of a result of the wrong device have no meaning."""
