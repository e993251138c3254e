"""Held-out predictions -> errors, coverage and width of intervals: of all pairs together, and of each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.interval import Spread
from orchestrator.extensions.profile_transfer.evaluation.held_out import HeldOut
from orchestrator.extensions.profile_transfer.models.pairs import Floats
from orchestrator.extensions.profile_transfer.models.predictor import PredictedSteps

_DRAWS = 2000
_SEED = 0
_ENDS = (2.5, 97.5)  # percent


def mean_over_models(values: Floats, models: NDArray[np.str_]) -> Spread:
    """The mean of all rows with its 95% interval: Efron 1979, of clusters.

    Args:
        values: [row].
        models: [row] which model each row is of; rows of one model are drawn together.
    """
    names, rows = np.unique(models, return_inverse=True)
    sums = np.bincount(rows, weights=values)
    counts = np.bincount(rows)
    drawn = np.random.default_rng(_SEED).integers(len(names), size=(_DRAWS, len(names)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, _ENDS)
    return Spread(median=float(values.mean()), low=float(low), high=float(high))


def difference_over_models(one: Floats, other: Floats, models: Sequence[str] | NDArray[np.str_]) -> Spread:
    """Return the difference between the means of two methods on the same rows; each bootstrap draw uses the
    same models.
    """
    return mean_over_models(one - other, np.asarray(models))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Score of one method under one split. Errors are |predicted / measured - 1|, over the rows of all pairs.

    Attributes:
        n: predictions, each of one repeat of one workload from one anchor for one target.
        out_of_range: those of them that the method would refuse to a user; here they are judged too, for a
            method must not look better by what it refuses.
        mape: mean error, with its 95% interval over models.
        median_error, p90_error: the error that half, and nine in ten, of the predictions stay below.
        coverage: share of measurements inside the interval that is to hold 90 of 100.
        worst_family, worst_coverage: the family with the least covered measurements, and how often.
        width: median of (high - low) / predicted.
    """

    n: int
    out_of_range: int
    mape: Spread
    median_error: float
    p90_error: float
    coverage: float
    worst_family: str
    worst_coverage: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredRows:
    """The predictions of one method under one split, the pairs one after the other.

    Attributes:
        errors: [row] |predicted / measured - 1|.
        is_covered: [row] whether the measurement lies in the interval.
        widths: [row] (high - low) / predicted.
        models, families: [row] names.
        in_range: [row] whether the method would make the prediction to a user.
        measured_seconds: [row] of a step on the target.
        pairs: [row] `anchor -> target`.
    """

    errors: Floats
    is_covered: NDArray[np.bool_]
    widths: Floats
    models: NDArray[np.str_]
    families: NDArray[np.str_]
    in_range: NDArray[np.bool_]
    measured_seconds: Floats
    pairs: NDArray[np.str_]


def collect_rows(held_out: Sequence[HeldOut]) -> ScoredRows:
    """Collect the rows of predictions that have intervals."""
    parts = [(out.predicted, out.pair) for out in held_out]
    measured = np.concatenate([pair.target_seconds for _, pair in parts])
    predicted = np.concatenate([predictions.step_seconds for predictions, _ in parts])
    low = np.concatenate([np.asarray(predictions.low) for predictions, _ in parts])
    high = np.concatenate([np.asarray(predictions.high) for predictions, _ in parts])
    return ScoredRows(
        errors=np.abs(predicted / measured - 1),
        is_covered=(low <= measured) & (measured <= high),
        widths=(high - low) / predicted,
        models=np.concatenate([pair.models for _, pair in parts]),
        families=np.concatenate([pair.families for _, pair in parts]),
        in_range=np.concatenate([_in_range(predictions) for predictions, _ in parts]),
        measured_seconds=measured,
        pairs=np.repeat(
            [f"{pair.anchor} -> {pair.target}" for _, pair in parts], [len(pair.models) for _, pair in parts]
        ),
    )


def _in_range(predicted: PredictedSteps) -> NDArray[np.bool_]:
    if predicted.in_range is None:
        return np.ones(len(predicted.step_seconds), dtype=np.bool_)
    return predicted.in_range


def score_rows(rows: ScoredRows) -> Score:
    """Score all rows, including those that the method marks as out of its range."""
    covered = coverage_by_family(rows)
    worst = min(covered, key=covered.__getitem__)
    return Score(
        n=len(rows.errors),
        out_of_range=int((~rows.in_range).sum()),
        mape=mean_over_models(rows.errors, rows.models),
        median_error=float(np.median(rows.errors)),
        p90_error=float(np.quantile(rows.errors, 0.9)),
        coverage=float(rows.is_covered.mean()),
        worst_family=worst,
        worst_coverage=covered[worst],
        width=float(np.median(rows.widths)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScore:
    """Score of the rows of one model, pair or quartile of step time.

    Attributes:
        mape: mean error.
        coverage: share of measurements inside the interval that is to hold 90 of 100.
        width: median of (high - low) / predicted.
    """

    mape: float
    coverage: float
    width: float
    n: int


def part_scores(rows: ScoredRows, labels: NDArray[np.str_]) -> dict[str, PartScore]:
    """Label -> score of its rows.

    Args:
        labels: [row].
    """
    return {
        str(label): PartScore(
            mape=float(rows.errors[labels == label].mean()),
            coverage=float(rows.is_covered[labels == label].mean()),
            width=float(np.median(rows.widths[labels == label])),
            n=int((labels == label).sum()),
        )
        for label in np.unique(labels)
    }


def find_quartiles(rows: ScoredRows) -> NDArray[np.str_]:
    """[row] quartile of the measured step time, "1" the shortest."""
    ends = np.quantile(rows.measured_seconds, (0.25, 0.5, 0.75))
    return (np.searchsorted(ends, rows.measured_seconds) + 1).astype(np.str_)


def coverage_by_family(rows: ScoredRows) -> dict[str, float]:
    """Family -> share of its measurements that their intervals hold."""
    return {
        str(family): float(rows.is_covered[rows.families == family].mean())
        for family in np.unique(rows.families)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAccuracy:
    """Shares of workloads and anchors for which all devices are known.

    Attributes:
        named: for which predictions name the best device; the anchor counts as it was measured.
        always_one: for which the device that is best most often is the best: what no prediction at all gives.
    """

    named: float
    always_one: float


def rank_accuracy(
    held_out: Sequence[HeldOut], usd_per_hour: Mapping[str, float] | None
) -> RankAccuracy | None:
    """Score how often one method names the right device under one split, over all pairs.

    Args:
        usd_per_hour: device -> price, to find the cheapest; None: to find the fastest.

    Returns:
        None where there are fewer than three devices, for two make no rank, or a price is not known.
    """
    devices = sorted({device for out in held_out for device in (out.pair.anchor, out.pair.target)})
    if len(devices) < 3 or (usd_per_hour is not None and not set(devices) <= set(usd_per_hour)):
        return None
    price = {device: usd_per_hour[device] if usd_per_hour else 1.0 for device in devices}
    costs = [costs for anchor in devices if (costs := _costs(held_out, anchor, price)) is not None]
    if not costs:
        return None
    best = np.concatenate([true.argmin(axis=1) for true, _ in costs])
    named = np.concatenate([predicted.argmin(axis=1) for _, predicted in costs])
    return RankAccuracy(
        named=float(np.mean(best == named)), always_one=float(np.bincount(best).max() / len(best))
    )


def _costs(
    held_out: Sequence[HeldOut], anchor: str, price: Mapping[str, float]
) -> tuple[Floats, Floats] | None:
    """[workload, device] true and predicted, of the workloads that every pair of this anchor has."""
    of_anchor = {out.pair.target: out for out in held_out if out.pair.anchor == anchor}
    if set(of_anchor) != set(price) - {anchor}:
        return None
    true: dict[str, dict[str, float]] = {}
    predicted: dict[str, dict[str, float]] = {}
    for target, predictions in of_anchor.items():
        true[target] = _by_workload(predictions, predictions.pair.target_seconds)
        predicted[target] = _by_workload(predictions, predictions.predicted.step_seconds)
        true[anchor] = predicted[anchor] = _by_workload(predictions, predictions.pair.profiles.step_seconds)
    shared = sorted(set.intersection(*(set(devices) for devices in true.values())))
    if not shared:
        return None

    def costs(seconds: Mapping[str, Mapping[str, float]]) -> Floats:
        return np.array(
            [[seconds[device][workload] * price[device] for device in price] for workload in shared]
        )

    return costs(true), costs(predicted)


def _by_workload(held_out: HeldOut, seconds: Floats) -> dict[str, float]:
    """Workload -> median of its repeats."""
    together: dict[str, list[float]] = defaultdict(list)
    for workload, step_seconds in zip(held_out.pair.workloads.tolist(), seconds.tolist(), strict=True):
        together[workload].append(step_seconds)
    return {workload: float(np.median(times)) for workload, times in together.items()}
