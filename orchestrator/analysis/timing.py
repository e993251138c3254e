"""The steady state of an attempt, out of its timed blocks."""

from orchestrator.core.interval import Interval, median_interval
from orchestrator.core.result import TrainResult


def step_seconds_of(result: TrainResult) -> Interval | None:
    """Steady-state seconds of one optimizer step: median and interval over blocks; None if none was timed.

    A block takes as long as its slowest rank, for the others wait for that one.
    """
    slowest = [max(ranks) for ranks in zip(*result.block_seconds, strict=True)]
    if not slowest:
        return None
    return median_interval([seconds / result.steps_per_block for seconds in slowest])
