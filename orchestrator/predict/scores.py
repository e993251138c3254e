"""Held-out predictions -> errors, coverage and width of intervals: of all pairs together, and of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.wording import Spread
from orchestrator.predict.bootstrap import mean_over_models
from orchestrator.predict.held_out import HeldOut
from orchestrator.predict.method import Predicted
from orchestrator.predict.pairs import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Of one method under one split. Errors are |predicted / measured - 1|, over the rows of all pairs.

    Attributes:
        n: predictions that were made, each of one repeat of one workload from one anchor for one target.
        refused: predictions that the method would not make; in no other number.
        mape: mean error, with its 95% interval over models.
        median_error, p90_error: the error that half, and nine in ten, of the predictions stay below.
        coverage: share of measurements inside the interval that is to hold 90 of 100.
        worst_family, worst_coverage: the family whose measurements are covered least, and how often.
        width: median of (high - low) / predicted.
    """

    n: int
    refused: int
    mape: Spread
    median_error: float
    p90_error: float
    coverage: float
    worst_family: str
    worst_coverage: float
    width: float


_UNKNOWN = math.nan
_NO_PREDICTION = Score(
    n=0,
    refused=0,
    mape=Spread(median=_UNKNOWN, low=_UNKNOWN, high=_UNKNOWN),
    median_error=_UNKNOWN,
    p90_error=_UNKNOWN,
    coverage=_UNKNOWN,
    worst_family="",
    worst_coverage=_UNKNOWN,
    width=_UNKNOWN,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The predictions of one method under one split, the pairs one after the other.

    Attributes:
        errors: [row] |predicted / measured - 1|.
        is_covered: [row] whether the measurement lies in the interval.
        widths: [row] (high - low) / predicted.
        models, families: [row] names.
        in_range: [row] whether the method makes the prediction.
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


def _in_range(predicted: Predicted) -> NDArray[np.bool_]:
    if predicted.in_range is None:
        return np.ones(len(predicted.step_seconds), dtype=np.bool_)
    return predicted.in_range


def score_of(rows: Rows) -> Score:
    """Of the rows that are in range; without any, all is unknown."""
    made = rows.in_range
    errors = rows.errors[made]
    if len(errors) == 0:
        return replace(_NO_PREDICTION, refused=len(made))
    covered = coverage_by_family(rows)
    worst = min(covered, key=covered.__getitem__)
    return Score(
        n=len(errors),
        refused=int((~made).sum()),
        mape=mean_over_models(errors, rows.models[made]),
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        coverage=float(rows.is_covered[made].mean()),
        worst_family=worst,
        worst_coverage=covered[worst],
        width=float(np.median(rows.widths[made])),
    )


def coverage_by_family(rows: Rows) -> dict[str, float]:
    """Family -> share of its measurements that their intervals hold; of rows in range."""
    families, covered = rows.families[rows.in_range], rows.is_covered[rows.in_range]
    return {str(family): float(covered[families == family].mean()) for family in np.unique(families)}
