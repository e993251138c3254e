"""(settings of a job, measured ones among them) -> joint normal logarithms of the steps of all others. Pure.

Settings with a prediction have it as their mean, and the errors of `posterior.py`. Predictions are the same
for all trainers: what a trainer adds is an error of its own, shared by its settings and, closer, by those
on the same hardware.

Settings without one are estimated by a Gaussian process over their factors (`factors.py`): the logarithm of
the seconds of a sample is a sum of linear effects and of a smooth function (Matern 5/2). Their sizes and
length maximise the likelihood of the measured settings within bounds: Rasmussen and Williams 2006, chapter 5.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.factors import compute_features, find_factors, num_levels
from orchestrator.analysis.recommendation.model.posterior import (
    FloatArray,
    GaussianPosterior,
    covariance_between,
)
from orchestrator.core.estimate import ErrorModel, StepPrior

_TRAINER, _TRAINER_ON_HARDWARE, _OF_SETTING = 0.3, 0.2, 0.05
"""Deviations of what a trainer adds to a predicted logarithm: everywhere, on one hardware, in one setting.
They are assumptions, wide enough for compiled against interpreted steps."""

_LINEAR_SIZES = (0.3**2, 2.0**2)
_SMOOTH_SIZES = (0.1**2, 1.0)
_LENGTHS = (0.3, 5.0)
"""Bounds of the variances and of the length scale: a few settings never show that factors do not interact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedSteps:
    """Estimates of the steps of a job's settings, given the measured ones.

    Attributes:
        rows: label -> row of the features.
        features: [setting, feature] of every setting of the job.
        process: fitted `GaussianProcessRegressor` of the logarithm of the seconds of a sample, less `middle`.
        several_trainers: predicted settings differ in their trainers.
        is_young: fewer settings were measured than show the effect of every factor alone.
        measured: predicted settings that were measured, one each.
        surprise: [measured] weights of their surprises: inverse covariance times measured less predicted.
        inverse: [measured, measured] inverse covariance.
    """

    rows: dict[str, int]
    features: FloatArray
    process: Any
    middle: float
    errors: ErrorModel
    several_trainers: bool
    is_young: bool
    measured: tuple[CandidateSetting, ...] = ()
    surprise: FloatArray = field(default_factory=lambda: np.zeros(0))
    inverse: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def marginal(self, candidates: Sequence[CandidateSetting]) -> tuple[FloatArray, FloatArray]:
        """Compute [setting] mean and deviation of the logarithm of the seconds of a step."""
        mean, deviation = np.zeros(len(candidates)), np.zeros(len(candidates))
        with_prior, others = _split(candidates)
        if with_prior:
            chosen = [candidates[index] for index in with_prior]
            mean[with_prior], gain, weights = self._conditioned(chosen)
            own = np.array([one.device**2 + one.network**2 for one in _priors(chosen)])
            added = _TRAINER**2 + _TRAINER_ON_HARDWARE**2 + _OF_SETTING**2 if self.several_trainers else 0.0
            variance = own + added
            deviation[with_prior] = np.sqrt(np.maximum(variance - np.sum(gain * weights, axis=1), 0.0))
        if others:
            chosen = [candidates[index] for index in others]
            level, deviation[others] = self.process.predict(self._features(chosen), return_std=True)
            mean[others] = level + self.middle + _log_batches(chosen)
        return mean, deviation

    def joint(self, candidates: Sequence[CandidateSetting]) -> GaussianPosterior:
        """Compute the joint posterior. Predicted settings are independent of those without a prediction."""
        mean, covariance = np.zeros(len(candidates)), np.zeros((len(candidates), len(candidates)))
        with_prior, others = _split(candidates)
        if with_prior:
            chosen = [candidates[index] for index in with_prior]
            mean[with_prior], gain, weights = self._conditioned(chosen)
            covariance[np.ix_(with_prior, with_prior)] = self._covariance(chosen, chosen) - gain @ weights.T
        if others:
            chosen = [candidates[index] for index in others]
            level, between = self.process.predict(self._features(chosen), return_cov=True)
            mean[others] = level + self.middle + _log_batches(chosen)
            covariance[np.ix_(others, others)] = between
        return GaussianPosterior(mean=mean, covariance=covariance)

    def _features(self, candidates: Sequence[CandidateSetting]) -> FloatArray:
        return self.features[[self.rows[candidate.label] for candidate in candidates]]

    def _covariance(self, ones: Sequence[CandidateSetting], others: Sequence[CandidateSetting]) -> FloatArray:
        return _covariance(ones, others, self.errors, several_trainers=self.several_trainers)

    def _conditioned(
        self, candidates: Sequence[CandidateSetting]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute mean, [setting, measured] covariance with measured settings, and its weights."""
        gain = self._covariance(candidates, self.measured)
        prior = np.array([one.log_seconds for one in _priors(candidates)])
        return prior + gain @ self.surprise, gain, gain @ self.inverse


def learn(job: Job, errors: ErrorModel) -> LearnedSteps | None:
    """Learn from the measured settings of a job, and from what pruned and disturbed trials of others showed.

    A disturbed trial is an upper bound. It is taken where it is faster than the estimate without it.

    None: no step was seen, and nothing is predicted.
    """
    seen = {one.label: one.steps_seen for one in job.candidates if one.steps_seen}
    learned = _learned(job, errors, seen)
    bounds = {
        one.label: most for one in job.candidates if one.label not in seen and (most := one.most_step_seconds)
    }
    if learned is None or not bounds:
        return learned
    estimates, _ = learned.marginal([one for one in job.candidates if one.label in bounds])
    faster = {
        label: (most,)
        for (label, most), estimate in zip(bounds.items(), estimates, strict=True)
        if math.log(most) < estimate
    }
    return _learned(job, errors, seen | faster) if faster else learned


def _learned(job: Job, errors: ErrorModel, seen: Mapping[str, tuple[float, ...]]) -> LearnedSteps | None:
    """Learn from the seconds of steps that were seen, by label."""
    measured = [candidate for candidate in job.candidates if candidate.label in seen]
    if not measured and all(candidate.prior is None for candidate in job.candidates):
        return None
    features = compute_features(job.candidates)
    rows = {candidate.label: row for row, candidate in enumerate(job.candidates)}
    levels = np.array([fmean(map(math.log, seen[one.label])) for one in measured])
    noise = np.array([errors.one_run**2 / len(seen[one.label]) for one in measured])
    per_sample = levels - _log_batches(measured)
    middle = float(per_sample.mean()) if measured else 0.0
    needs_process = any(candidate.prior is None for candidate in job.candidates)
    process = _fitted(
        features[[rows[one.label] for one in measured]], per_sample - middle, noise, fits=needs_process
    )
    trainers = {find_factors(one).get("trainer") for one in job.candidates if one.prior is not None}
    several = len(trainers) > 1
    predicted = [index for index, one in enumerate(measured) if one.prior is not None]
    known = [measured[index] for index in predicted]
    inverse = np.linalg.inv(
        _covariance(known, known, errors, several_trainers=several) + np.diag(noise[predicted])
    )
    surprise = inverse @ (levels[predicted] - np.array([one.log_seconds for one in _priors(known)]))
    return LearnedSteps(
        rows=rows,
        features=features,
        process=process,
        middle=middle,
        errors=errors,
        several_trainers=several,
        is_young=len(measured) < num_levels(job.candidates),
        measured=tuple(known),
        surprise=surprise.astype(np.float64),
        inverse=inverse.astype(np.float64),
    )


def _fitted(features: FloatArray, values: FloatArray, noise: FloatArray, *, fits: bool) -> Any:
    """Fit the process to the measured settings; with fewer than three its sizes are those of its start."""
    from sklearn.exceptions import ConvergenceWarning  # takes a second to import
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern

    kernel = ConstantKernel(1.0, _LINEAR_SIZES) * DotProduct(sigma_0=1.0, sigma_0_bounds="fixed")
    kernel += ConstantKernel(0.3**2, _SMOOTH_SIZES) * Matern(
        length_scale=1.0, length_scale_bounds=_LENGTHS, nu=2.5
    )
    optimizer = "fmin_l_bfgs_b" if fits and len(values) > 2 else None
    process = GaussianProcessRegressor(kernel=kernel, alpha=noise, optimizer=optimizer)
    if len(values):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a size at its bound is no fault
            process.fit(features, values)
    return process


def _covariance(
    ones: Sequence[CandidateSetting],
    others: Sequence[CandidateSetting],
    errors: ErrorModel,
    *,
    several_trainers: bool,
) -> FloatArray:
    covariance = covariance_between(_priors(ones), _priors(others), errors.correlation)
    if not several_trainers:
        return covariance
    same_trainer = _equal(ones, others, lambda one: find_factors(one).get("trainer"))
    same_hardware = _equal(ones, others, lambda one: one.prior and one.prior.hardware)
    same_setting = _equal(ones, others, lambda one: one.label)
    added: FloatArray = (
        same_trainer * (_TRAINER**2 + same_hardware * _TRAINER_ON_HARDWARE**2) + same_setting * _OF_SETTING**2
    )
    return covariance + added


def _equal(ones: Sequence[CandidateSetting], others: Sequence[CandidateSetting], key: Any) -> FloatArray:
    numbers: dict[Any, int] = {}
    left, right = ([numbers.setdefault(key(one), len(numbers)) for one in some] for some in (ones, others))
    same: FloatArray = np.equal.outer(np.array(left, dtype=int), np.array(right, dtype=int)).astype(
        np.float64
    )
    return same


def _split(candidates: Sequence[CandidateSetting]) -> tuple[list[int], list[int]]:
    """Return the indices of settings with a prediction, and of those without."""
    with_prior = [index for index, one in enumerate(candidates) if one.prior is not None]
    return with_prior, [index for index, one in enumerate(candidates) if one.prior is None]


def _priors(candidates: Sequence[CandidateSetting]) -> list[StepPrior]:
    return [one.prior for one in candidates if one.prior is not None]


def _log_batches(candidates: Sequence[CandidateSetting]) -> FloatArray:
    return np.log([float(one.batch_size) for one in candidates])
