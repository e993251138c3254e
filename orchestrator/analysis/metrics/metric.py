"""A number that an attempt has: what it is called, what it means, and how it is worked out."""

import math
from collections.abc import Callable
from dataclasses import dataclass
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


def step_seconds_of(result: TrainResult) -> Interval | None:
    """Steady-state seconds of one optimizer step: median and interval over blocks.

    None if no block was timed, and for times that no clock can have shown, of which a record may hold any. A
    block takes as long as its slowest rank, for the others wait for that one.
    """
    return _steady_interval(result.block_seconds, result.steps_per_block)


@lru_cache(maxsize=1)
def _steady_interval(block_seconds: tuple[tuple[float, ...], ...], steps_per_block: int) -> Interval | None:
    """Compute it once for all metrics of a record, which ask for it one after the other."""
    slowest = [max(ranks) / steps_per_block for ranks in zip(*block_seconds, strict=True)]
    if not slowest or not all(_LEAST_SECONDS <= seconds < math.inf for seconds in slowest):
        return None
    return median_interval(slowest)
