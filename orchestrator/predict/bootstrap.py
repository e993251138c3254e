"""How sure a mean error is, where the rows of one model err together: whole models are drawn again."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.wording import Spread
from orchestrator.predict.pairs import Floats

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
    """Of the means of two methods on the same rows, each draw with the same models for both."""
    return mean_over_models(one - other, np.asarray(models))
