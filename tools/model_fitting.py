"""Measurements -> errors of a plain sum of parts with networks and devices held out.

Own records and advice take these for the errors of predictions.

The coefficients are not negative and minimise the mean of (prediction / measured - 1)^2 + 0.03^2 x the sum of
their squares.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from published_networks import PublishedLatency
from scipy.optimize import nnls

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import ErrorCorrelation
from orchestrator.extensions.predictions.step_time.error_model import ErrorPrior, learned_from
from orchestrator.extensions.profile_transfer.models.conformal import compute_quantile, log_errors
from orchestrator.extensions.profile_transfer.models.pairs import Floats

_PULL = 0.03


def held_out_logs(
    measured: Sequence[PublishedLatency], *, for_new_devices: bool
) -> Mapping[tuple[str, str], Floats]:
    """(device, model) -> log(measured / predicted) of its rows by a fit to all other models.

    Args:
        for_new_devices: to other devices' too.
    """
    rows = _FittingRows.of(measured)
    found = {}
    for device, model in sorted({(latency.device, latency.model) for latency in measured}):
        tested = (rows.devices == device) & (rows.models == model)
        trained = rows.models != model
        if for_new_devices:
            trained &= rows.devices != device
        predicted = rows.parts[tested] @ _coefficients(rows.parts[trained], rows.step_seconds[trained])
        found[device, model] = log_errors(predicted, rows.step_seconds[tested])
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FittingRows:
    """Measurements as arrays."""

    devices: NDArray[np.str_]
    models: NDArray[np.str_]
    parts: Floats
    step_seconds: Floats

    @classmethod
    def of(cls, measured: Sequence[PublishedLatency]) -> "_FittingRows":
        return cls(
            devices=np.array([latency.device for latency in measured]),
            models=np.array([latency.model for latency in measured]),
            parts=np.array([latency.parts for latency in measured]),
            step_seconds=np.array([latency.step_seconds for latency in measured]),
        )


def _coefficients(parts: Floats, step_seconds: Floats) -> Floats:
    """Non-negative least squares of relative errors: Lawson and Hanson 1974."""
    size = parts.shape[1]
    pull = _PULL * np.sqrt(len(step_seconds)) * np.eye(size)
    rows = np.vstack((parts / step_seconds[:, None], pull))
    found: Floats = nnls(rows, np.concatenate((np.ones(len(step_seconds)), np.zeros(size))))[0]
    return found


Errors = Sequence[tuple[PublishedLatency, float]]
"""Measurements, each with log(measured / predicted) by a fit that did not see its network."""

_LEAST, _MOST = 0.01, 0.999  # of a correlation of which a logarithm is taken


def errors_by_device(measured: Sequence[PublishedLatency]) -> Errors:
    """Return the errors of each device, from fits to the other networks on that device alone."""
    found: list[tuple[PublishedLatency, float]] = []
    for device in sorted({latency.device for latency in measured}):
        own = [latency for latency in measured if latency.device == device]
        for (_, model), errors in held_out_logs(own, for_new_devices=False).items():
            rows = (latency for latency in own if latency.model == model)
            found += zip(rows, errors.tolist(), strict=True)
    return found


def fit_kinship(errors: Errors) -> ErrorCorrelation:
    """Correlations about 0, as an estimate is not known to be too low or too high.

    Raises:
        ConfigError: too few measurements for one of them.
    """
    deviations = deviations_of(errors)
    jobs: dict[tuple[str, int], dict[tuple[str, int], float]] = defaultdict(dict)
    for latency, error in errors:
        scaled = error / deviations[latency.device]
        jobs[latency.model, latency.image_size][latency.device, latency.batch_size] = scaled
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
    for job, error in errors:
        by_device[job.device].append(error)
    return {device: float(np.sqrt(np.mean(np.square(found)))) for device, found in by_device.items()}


def _doublings(along: dict[float, list[float]]) -> float:
    """Least squares of the logarithms of the correlations, a line through 0."""
    apart = np.array(sorted(along))
    logs = np.log(np.clip([np.mean(along[value]) for value in sorted(along)], _LEAST, _MOST))
    return float(-(apart @ apart) / (apart @ logs))


def fit_prior(measured: Sequence[PublishedLatency], *, repeat: float) -> ErrorPrior:
    """Fit the prior to at least two models on at least two devices.

    Args:
        repeat: deviation of the logarithms of repeats.
    """
    by_device: dict[str, dict[str, Floats]] = defaultdict(dict)
    for (device, model), found in held_out_logs(measured, for_new_devices=True).items():
        by_device[device][model] = found
    means = {device: np.mean([log.mean() for log in logs.values()]) for device, logs in by_device.items()}
    left = [log - means[device] for device, logs in by_device.items() for log in logs.values()]
    between = float(np.sqrt(np.mean(np.square(list(means.values())))))
    within = float(np.concatenate(left).std())
    freedom = len({latency.model for latency in measured}) - 1
    one = learned_from([1.0], device=between, workload=within, freedom=freedom)
    errors = [
        np.subtract.outer(asked, one.mean * measured_once).ravel()
        for logs in by_device.values()
        for model, asked in logs.items()
        for other, measured_once in logs.items()
        if other != model
    ]
    return ErrorPrior(
        device=between,
        workload=within,
        repeat=repeat,
        freedom=freedom,
        quantile=compute_quantile(np.abs(np.concatenate(errors))) / one.deviation,
    )
