"""Published steps -> the coefficients of their parts, and the deviations of their crossed effects.

Coefficients: least squares of logarithms over the measurements of classifiers on GPUs by PROFET and this
project, which alone have small steps. Devices, hosts and networks have offsets of their own, pulled towards
0; the pull on hosts has heavy tails, for the host of PROFET's K80 is from another time.

Deviations: the maximum of the marginal likelihood of all steps, with a weak prior. They are kept to two
digits, so that the file does not depend on the last steps of an optimiser.

Quantile: each laboratory is held out as a whole, and its steps are predicted from those of the others.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean, median

import numpy as np
from laboratory_rates import laboratory_devices
from numpy.typing import NDArray
from published_steps import PROFET, PROJECT, MeasuredStep
from scipy.optimize import brentq, least_squares, minimize

from orchestrator.extensions.predictions.step_time.analytic import (
    LAUNCHES,
    Analytic,
    find_parts,
    performed_flops,
)
from orchestrator.extensions.predictions.step_time.crossed_effects import (
    DEVICE_EFFECTS,
    HOST_EFFECTS,
    CrossedEffects,
    PublishedStep,
)
from orchestrator.extensions.profile_transfer.models.conformal import compute_quantile
from orchestrator.extensions.profile_transfer.models.pairs import Floats

_START = (0.5, 2.0, 2.0, 15.0, 0.5)
_START_DEVIATION = 1.5
_OFFSETS = {"device": 0.4, "host": 0.1, "network": 0.15}  # deviations of the pulls
_TIME_STEP_SECONDS = (1e-6, 1e-3)  # between these
_NUM_OF_DEVICE = 3  # terms; the others are of the host
_NOISE = 0.2
_TYPICAL, _TYPICAL_DEVIATION = 0.15, 0.8  # of a deviation, and of its logarithm: the weak prior
_LEAST, _MOST = 0.01, 2.0
_NORMAL_QUANTILE = 1.64
_AT_LEAST: Mapping[str, float] = {
    "kind": 0.4,
    "network on a device": 0.3,
    "laboratory": 0.15,
    "recurrent": 0.4,
    "recurrent device": 0.3,
    "recurrent software": 0.3,
    "host": 0.4,
    "host of a device": 0.4,
    "unlike network": 0.5,
    "unlike network at a size": 0.3,
    "host of an unlike network": 0.8,
}
"""Deviations that are not taken for smaller. Three kinds of devices tell nothing of their deviation; rates of
one network on one device count for themselves; people who publish benchmarks are more alike than others;
recurrent layers are to tell of no other family, and newer devices and versions of cuDNN take half as long;
small steps are of five hosts, of which that of an H100 launches twice as fast as four of 2016 to 2019; two
networks are unlike all others, and own code may launch several times what its layers tell."""


def fit_parts(steps: Sequence[MeasuredStep]) -> Analytic:
    """Fit the coefficients to small steps on GPUs, and the cost of replicas to pairs of rates.

    Steps in fp16 are left out: the scaling of the loss is a multiple of no coefficient.
    """
    own = [
        step
        for step in steps
        if step.laboratory in (PROFET, PROJECT)
        and step.query.device.kind == "gpu"
        and step.query.family == "classifier"
        and step.query.precision != "fp16"
    ]
    terms = np.array([_terms(step) for step in own])
    logs = np.log([step.seconds for step in own])
    devices, networks = ([getattr(step.labels, name) for step in own] for name in ("device", "network"))
    offsets = _Offsets(devices, networks)
    start = np.concatenate((np.log(_START), np.zeros(offsets.count)))
    found = least_squares(lambda values: _residuals(values, terms, logs, offsets), start).x
    parts = Analytic(
        coefficients=tuple(float(f"{value:.3g}") for value in np.exp(found[: len(_START)])),
        time_step_seconds=0.0,
        replicas_power=_replicas_power(steps),
        measurements=len(own),
        source=", ".join(dict.fromkeys(step.query.device.name for step in own)),
    )
    return replace(parts, time_step_seconds=_time_step_seconds(steps, parts))


def _time_step_seconds(steps: Sequence[MeasuredStep], parts: Analytic) -> float:
    """Return the seconds of a time step with which half of the GPUs are faster than their parts.

    GPUs that are in no file of conf/device are left out: with cuDNN of 2016 to 2018 they take twice as long.
    """
    old = laboratory_devices()
    recurrent = [
        step
        for step in steps
        if step.query.family == "recurrent"
        and step.query.device.kind == "gpu"
        and step.query.device.name not in old
    ]
    return float(f"{brentq(partial(_median_log, recurrent, parts), *_TIME_STEP_SECONDS, rtol=1e-4):.2g}")


def _median_log(steps: Sequence[MeasuredStep], parts: Analytic, time_step_seconds: float) -> float:
    """Return the median over the devices of the median of log(measured / parts)."""
    of_device: dict[str, list[float]] = defaultdict(list)
    changed = replace(parts, time_step_seconds=time_step_seconds)
    for step in steps:
        seconds = step.parts(changed).seconds
        of_device[step.query.device.name].append(math.log(step.seconds / seconds))
    return median(map(median, of_device.values()))


class _Offsets:
    """Offsets of devices, of their hosts and of networks, in one vector."""

    def __init__(self, devices: Sequence[str], networks: Sequence[str]) -> None:
        self._device, self._num_devices = _codes(devices)
        self._network, num_networks = _codes(networks)
        self.count = 2 * self._num_devices + num_networks

    def split(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the offsets of devices, hosts and networks."""
        device, host, network = np.split(values, (self._num_devices, 2 * self._num_devices))
        return device, host, network

    def of_rows(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the offset of the device's and of the host's work in every row."""
        device, host, network = self.split(values)
        return device[self._device] + network[self._network], host[self._device]


def _codes(names: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    distinct = sorted(set(names))
    return np.array([distinct.index(name) for name in names]), len(distinct)


def _terms(step: MeasuredStep) -> Floats:
    peaks = step.query.peaks
    assert peaks.memory_bytes_per_second is not None, "published devices have it"
    demand, precision = step.query.demand, step.query.precision
    terms = find_parts(
        replace(demand, flops=performed_flops(demand, kind=peaks.kind, precision=precision)),
        flops_per_second=peaks.flops_per_second[precision],
        bytes_per_second=peaks.memory_bytes_per_second,
    )
    terms[_NUM_OF_DEVICE:] *= LAUNCHES.get(precision, 1.0)
    return terms


def _residuals(values: Floats, terms: Floats, logs: Floats, offsets: _Offsets) -> Floats:
    logarithms, rest = values[: len(_START)], values[len(_START) :]
    coefficients = np.exp(logarithms)
    of_device, of_host = offsets.of_rows(rest)
    device = np.exp(of_device) * (terms[:, :_NUM_OF_DEVICE] @ coefficients[:_NUM_OF_DEVICE])
    host = np.exp(of_host) * (terms[:, _NUM_OF_DEVICE:] @ coefficients[_NUM_OF_DEVICE:])
    by_device, by_host, by_network = offsets.split(rest)
    return np.concatenate(
        (
            (np.log(np.hypot(device, host)) - logs) / _NOISE,
            (logarithms - np.log(_START)) / _START_DEVIATION,
            by_device / _OFFSETS["device"],
            _heavy_tailed(by_host / _OFFSETS["host"]),
            by_network / _OFFSETS["network"],
        )
    )


def _heavy_tailed(scaled: Floats) -> Floats:
    """Return residuals whose squares grow as logarithms do: Cauchy's loss."""
    found: Floats = np.sign(scaled) * np.sqrt(np.log1p(scaled**2))
    return found


def _replicas_power(steps: Sequence[MeasuredStep]) -> float:
    """Return the power of the number of replicas by which a step takes longer than its work alone.

    Shards are left out: their exchange is counted for itself.
    """
    alike: dict[object, dict[int, list[MeasuredStep]]] = defaultdict(lambda: defaultdict(list))
    for step in (step for step in steps if step.query.shards == 1):
        labels = step.labels
        key = (
            labels.laboratory,
            labels.software,
            labels.device,
            labels.precision,
            labels.network,
            labels.size,
        )
        alike[key][step.query.num_workers].append(step)
    powers = [
        math.log(_seconds_per_flop(several) / _seconds_per_flop(one)) / math.log(count)
        for by_count in alike.values()
        for count, many in by_count.items()
        if count > 1
        for one, several in product(by_count.get(1, ()), many)
    ]
    return max(round(median(powers), 3), 0.0)


def _seconds_per_flop(step: MeasuredStep) -> float:
    return step.seconds * step.query.num_workers / step.query.demand.flops / step.query.passes


def fit_deviations(steps: Sequence[PublishedStep]) -> Mapping[str, float]:
    """Return the deviation of every effect, and of the residual, to two digits."""
    names = (*DEVICE_EFFECTS, *HOST_EFFECTS, "residual")
    matrices = [_matrix(steps, name) for name in names]
    logs = np.array([step.log for step in steps])
    found = minimize(
        lambda values: _negative_evidence(values, matrices, logs),
        np.full(len(names), math.log(_TYPICAL)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(math.log(_AT_LEAST.get(name, _LEAST)), math.log(_MOST)) for name in names],
    )
    return {name: round(float(value), 2) for name, value in zip(names, np.exp(found.x), strict=True)}


def _matrix(steps: Sequence[PublishedStep], name: str) -> Floats:
    """Return the covariance of the steps by one effect of deviation 1."""
    effects = CrossedEffects(steps, {other: float(other == name) for other in _ALL})
    return np.eye(len(steps)) if name == "residual" else effects.covariance()


_ALL = (*DEVICE_EFFECTS, *HOST_EFFECTS, "residual")


def _negative_evidence(values: Floats, matrices: Sequence[Floats], logs: Floats) -> tuple[float, Floats]:
    """Return the negative logarithm of the likelihood and the prior, and its gradient."""
    variances = np.exp(2 * values)
    covariance = np.einsum("e,eij->ij", variances, np.array(matrices))
    inverse = np.linalg.inv(covariance)
    solved = inverse @ logs
    pull = (values - math.log(_TYPICAL)) / _TYPICAL_DEVIATION
    evidence = 0.5 * logs @ solved + 0.5 * np.linalg.slogdet(covariance)[1] + 0.5 * pull @ pull
    gradient = [
        variance * (np.sum(inverse * matrix) - solved @ matrix @ solved)
        for variance, matrix in zip(variances, matrices, strict=True)
    ]
    return float(evidence), np.array(gradient) + pull / _TYPICAL_DEVIATION


def held_out_scores(
    steps: Sequence[PublishedStep], deviations: Mapping[str, float]
) -> Mapping[str, list[tuple[float, float]]]:
    """Laboratory -> (log(measured / predicted), its deviation) of its steps, predicted by the others."""
    found: dict[str, list[tuple[float, float]]] = {}
    for laboratory in dict.fromkeys(step.labels.laboratory for step in steps):
        others = CrossedEffects([step for step in steps if step.labels.laboratory != laboratory], deviations)
        own = [step for step in steps if step.labels.laboratory == laboratory]
        found[laboratory] = [score(step, others) for step in own]
    return found


def score(step: PublishedStep, others: CrossedEffects) -> tuple[float, float]:
    """Return the error of a step that somebody else measures, and its deviation, to first order."""
    posterior = others.posterior(replace(step.labels, laboratory="", software=""))
    device, host = step.device_share, step.host_share
    error = step.log - device * posterior.device - host * posterior.host
    variance = (
        device**2 * posterior.device_variance
        + host**2 * posterior.host_variance
        + 2 * device * host * posterior.covariance
        + others.residual**2
    )
    return error, math.sqrt(variance)


def fit_quantile(steps: Sequence[PublishedStep], deviations: Mapping[str, float]) -> float:
    """Return the deviations to both sides that hold 90% of the steps of laboratories held out, and at least
    those of a normal distribution.
    """
    scores = held_out_scores(steps, deviations)
    scaled = [abs(error) / deviation for errors in scores.values() for error, deviation in errors]
    return max(round(compute_quantile(np.array(scaled)), 2), _NORMAL_QUANTILE)


def mean_coverage(scores: Mapping[str, list[tuple[float, float]]], quantile: float) -> float:
    """Return the share of steps within their interval; laboratories count alike."""
    return fmean(
        fmean(abs(error) <= quantile * deviation for error, deviation in errors) for errors in scores.values()
    )
