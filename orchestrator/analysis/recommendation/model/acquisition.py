"""(posterior of step times, objective, costs of measuring) -> what to measure next. Pure.

A setting is good if it keeps to the limits and its objective lies within a tolerance of the best one that
does. The value of a measurement is how much it is expected to raise the leading setting's chance to be good:
draws are sorted by the measured number and cut into strata, and each stratum is one outcome of the
measurement. This is the knowledge gradient of a good choice (Frazier, Powell and Dayanik 2009, INFORMS
Journal on Computing 21).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.recommendation.model.posterior import FloatArray, GaussianPosterior

TOLERANCE = 0.05
"""Default of how far above the best a good setting may lie, as a share."""

NUM_DRAWS = 4096

_STRATA, _SEED = 64, 0
_LEAST_GAIN = 0.002  # less is noise of the draws
_MOST_PROBED = 64
_EQUAL_CHANCES = 0.02  # chances closer than this do not rank settings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScalarObjective:
    """A weighted sum of logarithms to minimise: of the seconds of a job, of its dollars, and a quality loss.

    The seconds of a job are exp(log_fixed) + exp(log_steps) x the seconds of a step.

    Attributes:
        time, cost: weights.
        log_fixed: [setting] or [draw, setting]; -inf where the whole job scales with the step.
        log_steps: [setting].
        log_usd: [setting] dollars a second; NaN where no price is known and none is needed.
        quality_loss: [setting] or [draw, setting], weighted; infinite where a quality is too low.
        log_most_seconds, log_most_usd: limits of the job; infinite without one.
        tolerance: how far above the best a good setting may lie, as a share.
    """

    time: float
    cost: float
    log_fixed: FloatArray
    log_steps: FloatArray
    log_usd: FloatArray
    quality_loss: FloatArray
    log_most_seconds: float = math.inf
    log_most_usd: float = math.inf
    tolerance: float = TOLERANCE

    def with_measured(self, setting: int) -> "ScalarObjective":
        """Treat the fixed part of a setting as known: its measurement includes that part."""
        if self.log_fixed.ndim == 1:
            return self
        log_fixed = self.log_fixed.copy()
        log_fixed[:, setting] = np.median(log_fixed[:, setting])
        return replace(self, log_fixed=log_fixed)

    def log_seconds(self, log_step: FloatArray) -> FloatArray:
        """Compute [..., setting] the logarithm of the seconds of the job."""
        seconds: FloatArray = np.logaddexp(self.log_fixed, self.log_steps + log_step)
        return seconds

    def value(self, log_step: FloatArray) -> FloatArray:
        """Compute [..., setting] the objective; infinite where a limit is broken."""
        seconds = self.log_seconds(log_step)
        value = self.time * seconds + self.quality_loss
        keeps = seconds <= self.log_most_seconds
        if self.cost or math.isfinite(self.log_most_usd):
            usd = seconds + self.log_usd
            value = value + self.cost * usd
            keeps &= usd <= self.log_most_usd
        kept: FloatArray = np.where(keeps, value, np.inf)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assessment:
    """Chances of the settings of a job.

    Attributes:
        chances: [setting] to be good.
        leader: the setting with the highest chance; of nearly equal chances, the one with the best median.
        value: [draw, setting] objective.
        good: [draw, setting] whether the setting keeps to the limits and lies within the tolerance.
        log_seconds: [draw, setting] of the job.
    """

    chances: FloatArray
    leader: int
    value: FloatArray
    good: NDArray[np.bool_]
    log_seconds: FloatArray

    @property
    def chance(self) -> float:
        """Chance of the leader."""
        return float(self.chances[self.leader])


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One setting to measure, or two that are compared.

    Attributes:
        gain: expected rise of the leader's chance.
    """

    settings: tuple[int, ...]
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A measurement that is worth its cost.

    Attributes:
        chance: probability that its setting is good, before the measurement.
        gain: gain of the probe that it belongs to.
    """

    setting: int
    chance: float
    gain: float


def assess(posterior: GaussianPosterior, objective: ScalarObjective) -> Assessment:
    """Compute how likely every setting is good."""
    draws = posterior.draws(NUM_DRAWS, seed=_SEED)
    value = objective.value(draws)
    log_seconds = np.broadcast_to(objective.log_seconds(draws), value.shape)
    return judge(value, log_seconds, objective.tolerance)


def judge(value: FloatArray, log_seconds: FloatArray, tolerance: float) -> Assessment:
    """Compute the chances of settings from draws of the objective; an infinite value is no good one."""
    good = mark_good(value, tolerance=tolerance)
    chances: FloatArray = good.mean(axis=0)
    near = np.flatnonzero(
        (chances >= chances.max() - _EQUAL_CHANCES) & ((chances > 0) | (chances.max() == 0))
    )
    medians = np.median(value[:, near], axis=0)
    return Assessment(
        chances=chances, leader=int(near[medians.argmin()]), value=value, good=good, log_seconds=log_seconds
    )


def find_probes(assessment: Assessment, measurable: Sequence[int], *, repeat: float) -> tuple[Probe, ...]:
    """Compute the gain of measurements: of one setting, or of the leader and another one that may be good.

    Two settings with correlated errors are compared by measuring both: one alone does not show which is
    better.

    Args:
        measurable: settings that can be measured; of many, the likeliest are looked at.
        repeat: deviation of the logarithms of repeats.
    """
    chances, leader = assessment.chances, assessment.leader
    choices = _choices(chances)
    if leader not in choices or len(choices) < 2:
        return ()
    likely = sorted(measurable, key=lambda setting: -chances[setting])[:_MOST_PROBED]
    log_seconds = assessment.log_seconds
    measured = log_seconds + np.random.default_rng(_SEED + 1).normal(0.0, repeat, log_seconds.shape)
    columns: dict[tuple[int, ...], FloatArray] = {(setting,): measured[:, setting] for setting in likely}
    columns |= {
        (leader, other): measured[:, leader] - measured[:, other]
        for other in likely
        if leader in likely and other in choices and other != leader
    }
    good, current = assessment.good[:, choices], choices.index(leader)
    return tuple(
        Probe(settings=settings, gain=_gain(column, good, leader=current))
        for settings, column in columns.items()
    )


def _choices(chances: FloatArray) -> list[int]:
    """List the settings that may lead after a measurement: of many, the likeliest."""
    choices = np.flatnonzero(chances >= _LEAST_GAIN)
    if len(choices) > _MOST_PROBED:
        choices = np.sort(choices[np.argsort(-chances[choices], kind="stable")[:_MOST_PROBED]])
    return [int(choice) for choice in choices]


def mark_good(value: FloatArray, *, tolerance: float = TOLERANCE) -> NDArray[np.bool_]:
    """Mark [draw, setting] settings that keep to the limits and lie within the tolerance of the best."""
    best = value.min(axis=-1, keepdims=True)
    good: NDArray[np.bool_] = np.isfinite(value) & (value <= best + math.log1p(tolerance))
    return good


def best_next(
    assessment: Assessment, probes: Sequence[Probe], costs: FloatArray, *, left: float
) -> Proposal | None:
    """Choose the probe with the most gain for its cost, and of its settings the cheaper one.

    A probe has to leave enough for the one with the most gain.

    Args:
        costs: [setting] of measuring it; infinite where that is excluded.
        left: the most that all measurements together may still cost.

    Returns:
        None: no measurement is worth anything, or none fits.
    """

    def cost(*probes: Probe) -> float:
        return float(sum(costs[setting] for setting in {one for probe in probes for one in probe.settings}))

    useful = [probe for probe in probes if probe.gain >= _LEAST_GAIN]
    fits = [probe for probe in useful if math.isfinite(cost(probe)) and cost(probe) <= left]
    if not fits:
        return None
    most = max(fits, key=lambda probe: probe.gain)
    leaving = [probe for probe in fits if cost(probe, most) <= left]
    chosen = max(leaving, key=lambda probe: probe.gain / cost(probe))
    setting = int(min(chosen.settings, key=lambda one: costs[one]))
    return Proposal(setting=setting, chance=float(assessment.chances[setting]), gain=chosen.gain)


def measurement_plan(
    posterior: GaussianPosterior,
    objective: ScalarObjective,
    costs: FloatArray,
    *,
    assessment: Assessment,
    left: float,
    confidence: float,
    repeat: float,
) -> Iterator[tuple[Proposal, float]]:
    """List what to measure one after the other, if every result is as predicted, until the leader is clear.

    Args:
        assessment: assessment of that posterior, before any of these measurements.

    Returns:
        Proposals, each with the leader's chance after it.
    """
    costs = costs.copy()
    while assessment.chance < confidence:
        probes = find_probes(assessment, np.flatnonzero(np.isfinite(costs)).tolist(), repeat=repeat)
        proposal = best_next(assessment, probes, costs, left=left)
        if proposal is None:
            return
        chosen = proposal.setting
        left -= costs[chosen]
        costs[chosen] = math.inf
        posterior = posterior.given({chosen: float(posterior.mean[chosen])}, deviation=repeat)
        objective = objective.with_measured(chosen)
        assessment = assess(posterior, objective)
        yield proposal, assessment.chance


def _gain(measured: FloatArray, good: NDArray[np.bool_], *, leader: int) -> float:
    """Choose by half of each stratum and judge by the other: the best of noisy means looks too good."""
    strata = good[np.argsort(measured)].reshape(_STRATA, -1, good.shape[1])
    chosen = strata[:, ::2].mean(axis=1).argmax(axis=1)
    judged = strata[:, 1::2].mean(axis=1)
    return float(np.mean(judged[np.arange(_STRATA), chosen] - judged[:, leader]))
