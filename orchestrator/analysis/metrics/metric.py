"""A number that an attempt has: what it is called, what it means, and how it is worked out."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, ParamSpec

from orchestrator.core.interval import Interval, median_interval
from orchestrator.core.result import TrainResult

Of = ParamSpec("Of")

_LEAST_SECONDS = 1e-9  # the resolution of the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Generic[Of]):
    """A number of an attempt.

    Attributes:
        unit: SI, or USD; `1` is a number without one.
        meaning: what it is, and of a time: from what to what. All times but `launch_seconds` are of
            `time.perf_counter` in a worker, from idle device to idle device.
        of: source of the metric -> value; None if unknown.
        header: column header in tables, with the unit; empty if tables do not show it.
    """

    key: str
    unit: str
    meaning: str
    of: Callable[Of, float | None]
    header: str = ""


def find_step_seconds(result: TrainResult) -> Interval | None:
    """Steady-state seconds of one optimizer step: median and interval over blocks.

    None if no block was timed, and for times that no clock can have shown, of which a record may hold any. A
    block takes as long as its slowest rank, for the others wait for that one.
    """
    return _steady_interval(result.block_seconds, result.steps_per_block)


def find_training_step(result: TrainResult) -> Interval | None:
    """Seconds of one optimizer step of the whole training: `find_step_seconds`, where all steps are alike.

    Steps of several phases take unequal times, and only those of the last one are in blocks. Of such a
    training it is the mean of all steps, with an interval as wide, for its size, as that of the blocks.
    """
    steady = find_step_seconds(result)
    if steady is None or not has_phases(result):
        return steady
    mean = mean_step_seconds(result)
    if mean is None:
        return None
    ratio = mean / steady.median
    return replace(steady, median=mean, low=ratio * steady.low, high=ratio * steady.high)


def has_phases(result: TrainResult) -> bool:
    """Return whether the training had several phases."""
    return len(result.phase_seconds) > 1


def mean_step_seconds(result: TrainResult) -> float | None:
    """Mean seconds of all steps after the first; None: there are none.

    Of a training in phases that was resumed it is that of all attempts, the first steps of the earlier ones
    included; of another one that of the last attempt.
    """
    before, seconds = result.resumed_from_step, 0.0
    if has_phases(result):
        before, seconds = 0, result.resumed_seconds
    steps = result.steps - before - 1
    later = seconds + result.training_seconds - result.first_step_seconds
    return later / steps if steps > 0 and later > 0 else None


@lru_cache(maxsize=1)
def _steady_interval(block_seconds: tuple[tuple[float, ...], ...], steps_per_block: int) -> Interval | None:
    """Compute it once for all metrics of a record, which ask for it one after the other."""
    slowest = [max(ranks) / steps_per_block for ranks in zip(*block_seconds, strict=True)]
    if not slowest or not all(_LEAST_SECONDS <= seconds < math.inf for seconds in slowest):
        return None
    return median_interval(slowest)
