"""Utilisation of devices and energy of an attempt: (global batch, result) -> value."""

from collections.abc import Callable
from statistics import median

from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.core.result import TrainResult


def mfu(_batch: int, result: TrainResult) -> float | None:
    """PaLM (Chowdhery et al. 2022), appendix B, of the steady state."""
    steady, seconds = find_step_seconds(result), _compute_seconds(result)
    return seconds / steady.median if steady and seconds else None


def mfu_calibrated(_batch: int, result: TrainResult) -> float | None:
    """Compute the same of the calibrated peak. Above 1 the calibration was disturbed: None."""
    steady, calibration = find_step_seconds(result), result.calibration
    if steady is None or calibration is None:
        return None
    value = result.flops_per_step / calibration.flops_per_second / steady.median
    return value if value <= 1 else None


def calibrated_flops_per_second(_batch: int, result: TrainResult) -> float | None:
    """Return the calibrated peak that `mfu_calibrated` divides by."""
    return result.calibration.flops_per_second if result.calibration else None


def roofline_fraction(_batch: int, result: TrainResult) -> float | None:
    """Roofline model: Williams, Waterman and Patterson 2009."""
    steady, bounds = find_step_seconds(result), (_compute_seconds(result), _traffic_seconds(result))
    finite = [bound for bound in bounds if bound is not None]
    return max(finite) / steady.median if steady and len(finite) == len(bounds) else None


def communication_share(_batch: int, result: TrainResult) -> float | None:
    """Return the share of communication: slowest rank of each pair of blocks with and without exchange;
    median pair.
    """
    pairs = list(zip(*result.exchange_seconds, strict=True))
    if not pairs:
        return None
    slowest = [[max(seconds) for seconds in zip(*ranks, strict=True)] for ranks in pairs]
    return float(median(1 - apart / together for together, apart in slowest))


def joules(counter: str) -> Callable[[int, TrainResult], float | None]:
    """Build the metric of a counter's energy in the timed part."""
    return lambda _batch, result: result.energy_joules.get(counter)


def joules_per_sample(counter: str) -> Callable[[int, TrainResult], float | None]:
    """Build the metric of that energy per sample of the timed blocks."""

    def of(batch: int, result: TrainResult) -> float | None:
        joules, steps = result.energy_joules.get(counter), _timed_steps(result)
        return joules / (steps * batch) if joules is not None and steps else None

    return of


def energy_bound(_batch: int, result: TrainResult) -> float | None:
    """Joules of the timed blocks, if the accelerators drew their thermal design power all the time."""
    watts = result.peaks.tdp_watts if result.peaks else None
    slowest = [max(ranks) for ranks in zip(*result.block_seconds, strict=True)]
    return watts * sum(slowest) if watts is not None and slowest else None


def _compute_seconds(result: TrainResult) -> float | None:
    """Return the seconds of one step's operations at the devices' peak."""
    peak = result.peaks.flops_per_second if result.peaks else None
    return result.flops_per_step / peak if peak else None


def _traffic_seconds(result: TrainResult) -> float | None:
    """Return the seconds of one step's memory traffic at the devices' memory peak."""
    peak = result.peaks.memory_bytes_per_second if result.peaks else None
    return result.bytes_per_step / peak if peak else None


def _timed_steps(result: TrainResult) -> int:
    return len(result.block_seconds[0]) * result.steps_per_block if result.block_seconds else 0
