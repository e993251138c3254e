"""Raw block times -> the steady state of a trial, and the numbers that stand for it elsewhere."""

from orchestrator.core.interval import Interval, median_interval
from orchestrator.core.result import TrainResult, TrialRecord


def step_seconds_of(result: TrainResult) -> Interval | None:
    """Steady-state seconds of one optimizer step: median and interval over blocks; None if none was timed.

    A block takes as long as its slowest rank, for the others wait for that one.
    """
    slowest = [max(ranks) for ranks in zip(*result.block_seconds, strict=True)]
    if not slowest:
        return None
    return median_interval([seconds / result.steps_per_block for seconds in slowest])


def samples_per_second_of(step_seconds: Interval, *, global_batch_size: int) -> Interval:
    """Throughput of all replicas together, with the interval that belongs to that of the step."""
    return Interval(
        median=global_batch_size / step_seconds.median,
        low=global_batch_size / step_seconds.high,
        high=global_batch_size / step_seconds.low,
        coverage=step_seconds.coverage,
    )


def metrics_of(record: TrialRecord) -> dict[str, float]:
    """Named numbers of one attempt, in SI units; nothing that could be compared unless it was measured.

    A rehearsal has only the loss that it ended with, and a failure nothing.
    """
    result = record.result
    if result is None:
        return {}
    final_loss = {"final_loss": result.losses[-1][1]} if result.losses else {}
    if record.provenance == "rehearsed":
        return final_loss
    return {**_steady_metrics(record, result), **_once_metrics(result), **final_loss, **result.quality}


def _steady_metrics(record: TrialRecord, result: TrainResult) -> dict[str, float]:
    step_seconds = step_seconds_of(result)
    if step_seconds is None:
        return {}
    rate = samples_per_second_of(step_seconds, global_batch_size=record.spec.global_batch_size)
    return {
        "steady_samples_per_second": rate.median,
        "step_seconds_median": step_seconds.median,
        "step_seconds_low": step_seconds.low,
        "step_seconds_high": step_seconds.high,
    }


def _once_metrics(result: TrainResult) -> dict[str, float]:
    return {
        "setup_seconds": result.setup_seconds,
        "first_step_seconds": result.first_step_seconds,
        "warmup_seconds": result.warmup_seconds,
        "training_seconds": result.training_seconds,
        "evaluation_seconds": result.evaluation_seconds,
    }
