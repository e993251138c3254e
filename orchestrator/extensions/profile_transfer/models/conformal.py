"""Errors on models that a predictor never saw -> how wide its intervals must be: split conformal prediction.

Vovk, Gammerman and Shafer 2005, "Algorithmic Learning in a Random World"; of logarithms, so that an interval
is a factor to both sides.
"""

import numpy as np

from orchestrator.extensions.profile_transfer.models.pairs import Floats

COVERAGE = 0.9
"""Share of measurements that an interval is to hold."""

_LEAST_SECONDS = 1e-9  # a line may predict less than nothing


def compute_quantile(sizes: Floats) -> float:
    """The size that COVERAGE of them stay within; of few, the largest."""
    return float(np.quantile(sizes, min(1.0, COVERAGE * (1 + 1 / len(sizes))), method="higher"))


_OF_DISTANCE, _OF_SECONDS = 0.75, -0.1
"""Powers of a scale, found by likelihood and rounded: docs/findings/prediction.md."""


def compute_scale(distances: Floats, step_seconds: Floats) -> Floats:
    """[row] how large an error is to be expected, but for a factor that is the same for all rows.

    Errors grow with the distance from training. Those of short steps, which launches and the host decide, are
    larger.

    Args:
        distances: [row] standard deviation of a process that knows the profile alone.
        step_seconds: [row] predicted.
    """
    scale: Floats = distances**_OF_DISTANCE * step_seconds**_OF_SECONDS
    return scale


def log_errors(predicted: Floats, measured: Floats) -> Floats:
    """[row] log(measured / predicted)."""
    logs: Floats = np.log(measured / np.maximum(predicted, _LEAST_SECONDS))
    return logs
