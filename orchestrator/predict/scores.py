"""Held-out predictions -> errors, coverage and width of intervals: of all pairs together, and of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.wording import Spread
from orchestrator.predict.bootstrap import mean_over_models
from orchestrator.predict.held_out import HeldOut
from orchestrator.predict.method import PredictedSteps
from orchestrator.predict.pairs import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Of one method under one split. Errors are |predicted / measured - 1|, over the rows of all pairs.

    Attributes:
        n: predictions, each of one repeat of one workload from one anchor for one target.
        out_of_range: those of them that the method would refuse to a user; here they are judged too, for a
            method must not look better by what it refuses.
        mape: mean error, with its 95% interval over models.
        median_error, p90_error: the error that half, and nine in ten, of the predictions stay below.
        coverage: share of measurements inside the interval that is to hold 90 of 100.
        worst_family, worst_coverage: the family whose measurements are covered least, and how often.
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
class Rows:
    """The predictions of one method under one split, the pairs one after the other.

    Attributes:
        errors: [row] |predicted / measured - 1|.
        is_covered: [row] whether the measurement lies in the interval.
        widths: [row] (high - low) / predicted.
        models, families: [row] names.
        in_range: [row] whether the method would make the prediction to a user.
    """

    errors: Floats
    is_covered: NDArray[np.bool_]
    widths: Floats
    models: NDArray[np.str_]
    families: NDArray[np.str_]
    in_range: NDArray[np.bool_]


def rows_of(found: Sequence[HeldOut]) -> Rows:
    """Of predictions that have intervals."""
    parts = [(each.predicted, each.pair) for each in found]
    measured = np.concatenate([pair.target_seconds for _, pair in parts])
    predicted = np.concatenate([each.step_seconds for each, _ in parts])
    low = np.concatenate([np.asarray(each.low) for each, _ in parts])
    high = np.concatenate([np.asarray(each.high) for each, _ in parts])
    return Rows(
        errors=np.abs(predicted / measured - 1),
        is_covered=(low <= measured) & (measured <= high),
        widths=(high - low) / predicted,
        models=np.concatenate([pair.models for _, pair in parts]),
        families=np.concatenate([pair.families for _, pair in parts]),
        in_range=np.concatenate([_in_range(each) for each, _ in parts]),
    )


def _in_range(predicted: PredictedSteps) -> NDArray[np.bool_]:
    if predicted.in_range is None:
        return np.ones(len(predicted.step_seconds), dtype=np.bool_)
    return predicted.in_range


def score_of(rows: Rows) -> Score:
    """Of all rows, those that the method calls out of its range among them."""
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


def coverage_by_family(rows: Rows) -> dict[str, float]:
    """Family -> share of its measurements that their intervals hold."""
    return {
        str(family): float(rows.is_covered[rows.families == family].mean())
        for family in np.unique(rows.families)
    }
