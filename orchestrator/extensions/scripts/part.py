"""(message of a script's callback, the worker's clock) -> its measurement of a part of the training. Pure.

A script is someone else's program: every number is checked where it comes in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError

PROTOCOL_VERSION = 2
"""Version of the callback's messages that this worker reads."""

_LEAST_STEP_SECONDS = 1e-7  # no pass through a loop of Python takes less
_MOST = 2.0**50  # bytes, samples or seconds: far above all that is real
_CLOCK_SECONDS = 0.05  # by which two clocks of a host may differ, and CPU time is rounded
_OVERHEAD_SECONDS = 2.0  # from the order to the clock's start and from its end to the report
_LEAST_TIMED = 0.5  # of what the worker waited beyond that
_UNCOUNTED = (
    "the samples of a step are not known; give their number in this process: "
    "steps(loader, samples=lambda batch: len(batch)), step(samples=64) or StepCallback(samples=64)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Smaller batches that were in no step, of the training so far: their number, samples and seconds."""

    batches: int = 0
    samples: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Batches of the training so far but the first one of each loop, which starts a loader.

    Attributes:
        num_processes: of the loader; 0: it reads where the script trains; None: not seen.
        seconds: inside `next()`, also where a device was busy meanwhile.
    """

    num_processes: int | None = None
    samples: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Steps that a script took and timed together.

    Attributes:
        seconds: between two idle devices, without `paused_seconds`.
        data_wait_seconds: in which steps waited for their batches; None: not measured.
        is_given: True if the script gave the number of samples, and no batch confirmed it.
        num_workers: processes that train together; None: not seen.
        loss: the newest one; None: none was reported.
        kind, name, dtype, is_rounded, peak_memory_bytes: facts of the device as the framework reports them.
        has_trained: a backward pass or a step of an optimizer of PyTorch was seen so far; None: not watched.
    """

    seconds: float
    paused_seconds: float
    cpu_seconds: float
    data_wait_seconds: float | None
    samples: int
    is_given: bool
    left_out: LeftOut
    loaded: Loaded = Loaded()
    peak_host_bytes: int
    num_workers: int | None
    loss: float | None
    is_torn: bool
    kind: DeviceKind
    name: str | None
    dtype: str | None
    is_rounded: bool
    peak_memory_bytes: int | None
    has_trained: bool | None = None


def require_version(message: Mapping[str, Any]) -> None:
    """Raise TrialError for a callback of another version than this worker's."""
    version = message.get("version")
    if version != PROTOCOL_VERSION:
        raise TrialError(
            "invalid_measurement",
            f"the script's orchestrator_callback speaks version {_shown(version)} of the protocol, and this "
            f"orchestrator version {PROTOCOL_VERSION}; leave out the script's own copy of the callback, or "
            "replace it by this orchestrator's",
        )


def part_in(message: Mapping[str, Any], *, steps: int, wall_seconds: float, cores: int) -> Part:
    """Read the report of a part.

    Args:
        steps: steps that the part has.
        wall_seconds: from the order to the report by the worker's clock, which no time of it can exceed.
        cores: cores of the host, which bound its CPU time.

    Raises:
        TrialError: `invalid_measurement`, for a value that is missing, not finite or out of its range.
    """
    most = wall_seconds + _CLOCK_SECONDS
    left_out = message.get("left_out")
    if not isinstance(left_out, Mapping):
        raise _refused("left_out", left_out)
    loaded = message.get("loaded", {})
    if not isinstance(loaded, Mapping):
        raise _refused("loaded", loaded)
    peak = _number_or_none(message, "peak_memory_bytes", most=_MOST)
    return Part(
        seconds=_number(message, "seconds", least=steps * _LEAST_STEP_SECONDS, most=most),
        paused_seconds=_number(message, "paused_seconds", most=most),
        cpu_seconds=_number(message, "cpu_seconds", most=most * cores),
        data_wait_seconds=_number_or_none(message, "data_wait_seconds", most=most),
        samples=_samples(message),
        is_given=message.get("is_given") is True,
        left_out=LeftOut(
            batches=_count(left_out, "batches"),
            samples=_count(left_out, "samples"),
            seconds=_number(left_out, "seconds", most=_MOST),
        ),
        loaded=_loaded(loaded) if loaded else Loaded(),
        peak_host_bytes=int(_number(message, "peak_host_bytes", most=_MOST)),
        num_workers=None if message.get("num_workers") is None else _count(message, "num_workers"),
        loss=_loss(message.get("loss")),
        is_torn=message.get("is_torn") is True,
        kind=_kind(message),
        name=_text(message, "name"),
        dtype=_text(message, "dtype"),
        is_rounded=message.get("is_rounded") is True,
        peak_memory_bytes=None if peak is None else int(peak),
        has_trained=message["has_trained"] if isinstance(message.get("has_trained"), bool) else None,
    )


def require_whole_time(*, reported_seconds: float, wall_seconds: float) -> None:
    """Raise TrialError if a script reports much less time than the worker waited for it.

    Args:
        reported_seconds: times and pauses of all parts so far.
        wall_seconds: by the worker's clock.
    """
    if reported_seconds < _LEAST_TIMED * wall_seconds - _OVERHEAD_SECONDS:
        raise TrialError(
            "invalid_measurement",
            f"the script reported {reported_seconds:.3g} s of steps and pauses, and the worker waited "
            f"{wall_seconds:.3g} s for them; the script's clock is not that of the host",
        )


def _loaded(message: Mapping[str, Any]) -> Loaded:
    return Loaded(
        num_processes=None if message.get("num_processes") is None else _count(message, "num_processes"),
        samples=_count(message, "samples"),
        seconds=_number(message, "seconds", most=_MOST),
    )


def _number(message: Mapping[str, Any], name: str, *, most: float, least: float = 0.0) -> float:
    value = message.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    raise _refused(name, value, f", which must be a number from {least:.3g} to {most:.3g}")


def _number_or_none(message: Mapping[str, Any], name: str, *, most: float) -> float | None:
    return None if message.get(name) is None else _number(message, name, most=most)


def _samples(message: Mapping[str, Any]) -> int:
    if message.get("samples") is None:
        raise TrialError("invalid_measurement", _UNCOUNTED)
    return _count(message, "samples")


def _count(message: Mapping[str, Any], name: str) -> int:
    return int(_number(message, name, most=_MOST))


def _loss(value: object) -> float | None:
    """Return a loss, which need not be finite: that of a training that diverged."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _kind(message: Mapping[str, Any]) -> DeviceKind:
    kind = message.get("kind")
    if kind not in get_args(DeviceKind):
        raise TrialError(
            "invalid_measurement",
            f"the script reported the device {_shown(kind)!r}, and nothing here waits for it, so no rate is "
            f"known; expected one of {', '.join(get_args(DeviceKind))}",
        )
    return cast(DeviceKind, kind)


def _text(message: Mapping[str, Any], name: str) -> str | None:
    value = message.get(name)
    return value[:100] if isinstance(value, str) else None


def _refused(name: str, value: object, why: str = "") -> TrialError:
    return TrialError("invalid_measurement", f"the script reported {name}={_shown(value)}{why}")


def _shown(value: object) -> str:
    try:
        return str(value)[:40]
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
