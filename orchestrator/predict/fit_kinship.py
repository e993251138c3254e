"""Published measurements -> how alike a network errs on two devices, and at two batch sizes."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from orchestrator.core.errors import ConfigError
from orchestrator.core.forecast import ErrorCorrelation
from orchestrator.predict.analytic import Measured
from orchestrator.predict.fit_analytic import held_out_logs

Errors = Sequence[tuple[Measured, float]]
"""Measurements, each with log(measured / predicted) by a fit that did not see its network."""

_LEAST, _MOST = 0.01, 0.999  # of a correlation of which a logarithm is taken


def errors_by_device(measured: Sequence[Measured]) -> Errors:
    """By fits to the other networks on that device alone."""
    found: list[tuple[Measured, float]] = []
    for device in sorted({each.device for each in measured}):
        own = [each for each in measured if each.device == device]
        for (_, model), errors in held_out_logs(own, for_new_devices=False).items():
            rows = (each for each in own if each.model == model)
            found += zip(rows, errors.tolist(), strict=True)
    return found


def fit_kinship(errors: Errors) -> ErrorCorrelation:
    """Correlations about 0, as an estimate is not known to be too low or too high.

    Raises:
        ConfigError: too few measurements for one of them.
    """
    deviations = deviations_of(errors)
    jobs: dict[tuple[str, int], dict[tuple[str, int], float]] = defaultdict(dict)
    for each, error in errors:
        scaled = error / deviations[each.device]
        jobs[each.model, each.image_size][each.device, each.batch_size] = scaled
    across: list[float] = []
    along: dict[float, list[float]] = defaultdict(list)
    for job in jobs.values():
        for (one, other), product in ((pair, job[pair[0]] * job[pair[1]]) for pair in combinations(job, 2)):
            if one[1] == other[1]:
                across.append(product)
            elif one[0] == other[0]:
                along[abs(math.log2(one[1] / other[1]))].append(product)
    if not across or not along:
        raise ConfigError("networks are needed at one batch size on two devices, and at two sizes on one")
    return ErrorCorrelation(devices=float(np.clip(np.mean(across), 0.0, _MOST)), doublings=_doublings(along))


def deviations_of(errors: Errors) -> dict[str, float]:
    """Device -> deviation of the errors there, about 0."""
    by_device: dict[str, list[float]] = defaultdict(list)
    for each, error in errors:
        by_device[each.device].append(error)
    return {device: float(np.sqrt(np.mean(np.square(found)))) for device, found in by_device.items()}


def _doublings(along: dict[float, list[float]]) -> float:
    """Least squares of the logarithms of the correlations, a line through 0."""
    apart = np.array(sorted(along))
    logs = np.log(np.clip([np.mean(along[each]) for each in sorted(along)], _LEAST, _MOST))
    return float(-(apart @ apart) / (apart @ logs))
