"""(what each rank reports) -> in what the ranks contradict each other, or None. Pure.

Ranks take the same steps together, read one loss that is reduced over all of them, and evaluate weights that
are the same on each. If they differ, no rank's report counts for the trial.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from orchestrator.core.result import Failure, TrainResult
from orchestrator.core.trial_progress import Evaluation
from orchestrator.train.rank_result import RankResult

_LOSS_TOLERANCE = 1e-5  # relative: some ten roundings of float32
_QUALITY_TOLERANCE = 1e-2  # relative: ranks may choose other kernels, and a few samples fall otherwise

_SHARED: Mapping[str, Callable[[RankResult], object]] = {
    "the steps taken": lambda report: report.times.steps,
    "the step that it went on from": lambda report: report.times.resumed_from_step,
    "the samples of a rank": lambda report: None if report.device.batch_share else report.samples,
    "the warm-up steps": lambda report: report.times.warmup_steps,
    "the number of blocks": lambda report: len(report.times.block_seconds),
    "the steps per block": lambda report: report.times.steps_per_block,
    "why timing stopped": lambda report: report.times.stopped_because,
    "the steps after which the loss was read": lambda report: [step for step, _ in report.times.losses],
    "the steps after which it was evaluated": lambda report: [
        evaluation.steps for evaluation in _curve(report)
    ],
    "the kinds of quality": lambda report: sorted(report.quality),
}


def find_failure(
    reports: Sequence[RankResult], result: TrainResult, *, shares_losses: bool
) -> Failure | None:
    """Return the failure that the result of these ranks deserves, with the result inside, if they disagree.

    Args:
        shares_losses: True if a rank's loss is that of all ranks; a script's is its own.
    """
    violation = (
        _shared_facts(reports)
        or (_losses(reports) if shares_losses else None)
        or _pursuit(reports)
        or _quality(reports)
    )
    if violation is None:
        return None
    return Failure(kind="invalid_measurement", message=violation, refused=result)


def _shared_facts(reports: Sequence[RankResult]) -> str | None:
    for what, fact in _SHARED.items():
        first, *others = map(fact, reports)
        if any(other != first for other in others):
            return _describe_disagreement(what, [first, *others])
    return None


def _losses(reports: Sequence[RankResult]) -> str | None:
    for (step, first), *others in zip(*(report.times.losses for report in reports), strict=True):
        losses = [first, *(loss for _, loss in others)]
        if not _are_close(losses, _LOSS_TOLERANCE):
            return _describe_disagreement(f"the loss after step {step}", losses)
    return None


def _pursuit(reports: Sequence[RankResult]) -> str | None:
    """Close in proportion to the target: early on a quality is near zero, and a sample more is much of it."""
    pursuit = reports[0].times.pursuit
    scale = abs(pursuit.target.value) if pursuit else 0.0
    for ranks in zip(*map(_curve, reports), strict=True):
        values = [rank.quality for rank in ranks]
        if not _are_close(values, _QUALITY_TOLERANCE, scale=scale):
            return _describe_disagreement(f"the quality after step {ranks[0].steps}", values)
    return None


def _curve(report: RankResult) -> tuple[Evaluation, ...]:
    return report.times.pursuit.curve if report.times.pursuit else ()


def _quality(reports: Sequence[RankResult]) -> str | None:
    for name in reports[0].quality:
        values = [report.quality[name] for report in reports]
        if not _are_close(values, _QUALITY_TOLERANCE):
            return _describe_disagreement(f"the {name}", values)
    return None


def _are_close(values: Sequence[float], tolerance: float, *, scale: float = 0.0) -> bool:
    """Relative to the values themselves or to a larger scale; what is not a number is close to its like."""
    if any(map(math.isnan, values)):
        return all(map(math.isnan, values))
    return math.isclose(min(values), max(values), rel_tol=tolerance, abs_tol=tolerance * scale)


def _describe_disagreement(what: str, values: Sequence[object]) -> str:
    parts = ", ".join(f"{value} on rank {rank}" for rank, value in enumerate(values))
    return f"ranks disagree on {what}: {parts}"
