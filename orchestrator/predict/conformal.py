"""Errors on models that a predictor never saw -> how wide its intervals must be: split conformal prediction.

Vovk, Gammerman and Shafer 2005, "Algorithmic Learning in a Random World"; of logarithms, so that an interval
is a factor to both sides.
"""

from dataclasses import replace

import numpy as np

from orchestrator.predict.held_out import HeldOut
from orchestrator.predict.pairs import Floats

COVERAGE = 0.9
"""Share of measurements that an interval is to hold."""

_LEAST_SECONDS = 1e-9  # a line may predict less than nothing


def quantile_of(sizes: Floats) -> float:
    """The size that COVERAGE of them stay within; of few, the largest."""
    return float(np.quantile(sizes, min(1.0, COVERAGE * (1 + 1 / len(sizes))), method="higher"))


def log_errors(predicted: Floats, measured: Floats) -> Floats:
    """[row] log(measured / predicted)."""
    found: Floats = np.log(measured / np.maximum(predicted, _LEAST_SECONDS))
    return found


def with_intervals(found: HeldOut) -> HeldOut:
    """For a method without intervals of its own: of each model's rows, by the errors on all other models.

    The predictors that made those errors had this model in training, so the intervals are a little narrow.
    """
    predicted, pair = found.predicted, found.pair
    if predicted.low is not None or len(np.unique(pair.models)) < 2:
        return found
    sizes = np.abs(log_errors(predicted.step_seconds, pair.target_seconds))
    width = np.empty(len(sizes))
    for model in np.unique(pair.models):
        is_own = pair.models == model
        width[is_own] = quantile_of(sizes[~is_own])
    center = np.maximum(predicted.step_seconds, _LEAST_SECONDS)
    bounded = replace(predicted, low=center * np.exp(-width), high=center * np.exp(width))
    return replace(found, predicted=bounded)
