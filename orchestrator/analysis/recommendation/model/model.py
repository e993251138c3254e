"""(candidates of a job, criteria) -> posterior of their times and the objective to minimise. Pure.

A measured setting is one column of the posterior: the mean logarithm of the seconds of the job, over quiet
runs. A setting that was not measured is another: the logarithm of its step, as predicted and then conditioned
on the measured steps of the same workload. Its fixed part is that of the measured settings, uncertain by a
factor of 3.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev, variance

import numpy as np

from orchestrator.analysis.metrics.quality import QualityInterval, quality_interval
from orchestrator.analysis.metrics.student import Z_95, t_95
from orchestrator.analysis.recommendation.model.acquisition import NUM_DRAWS, ScalarObjective
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.criteria import Criteria, compute_loss
from orchestrator.analysis.recommendation.model.learned_steps import LearnedSteps
from orchestrator.analysis.recommendation.model.posterior import (
    FloatArray,
    GaussianPosterior,
    compute_posterior,
)
from orchestrator.core.estimate import ErrorCorrelation, ErrorModel
from orchestrator.core.interval import Spread, compute_spread

INDEPENDENT = ErrorModel(
    correlation=ErrorCorrelation(devices=0.0, doublings=1.0), repeat=0.0256, quantile=1.72
)
"""For plans that were stored without an error model: no measurement corrects the prediction of another
setting. `repeat` and `quantile` are those of the shipped predictions."""

AS_LONG = 0.99
"""Share of the samples from which on two trainings count as equally long."""

_ASSUMED_REPEATS = 0.25  # that the assumed deviation of one run counts as, beside measured repeats
_FIXED_DEVIATION = math.log(3.0)
_SECONDS_PER_HOUR = 3600
_SEED = 2
_UNKNOWN_DEVIATION = 10.0  # of a quality whose spread is unknown, over its size: no difference is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A normal logarithm.

    Attributes:
        mean, deviation: estimate of the mean and its standard deviation.
    """

    mean: float
    deviation: float

    @property
    def spread(self) -> Spread:
        """Exponential of the level with its 95% interval."""
        half = Z_95 * self.deviation
        return Spread(
            median=math.exp(self.mean), low=math.exp(self.mean - half), high=math.exp(self.mean + half)
        )


def build_level(seconds: Sequence[float], errors: ErrorModel) -> Level:
    """Take the mean logarithm of runs, with the deviation that gives Student's 95% interval.

    Args:
        seconds: seconds of every run, at least one.
        errors: `repeat` is the least deviation of one run: few runs may agree by chance.
    """
    logs = [math.log(one) for one in seconds]
    one_run = errors.one_run
    if len(logs) > 1 and not errors.is_pooled:
        one_run = max(errors.repeat, stdev(logs) * t_95(len(logs) - 1) / Z_95)
    return Level(mean=fmean(logs), deviation=one_run / math.sqrt(len(logs)))


def pooled_errors(job: Job, errors: ErrorModel) -> ErrorModel:
    """Estimate the deviation of one run from the repeats of all settings, and a little from the assumed one.

    So two runs that agree by chance make no setting certain, and one repeat counts for every setting.
    Where every setting has a prediction, twice the deviation of published repeats is assumed. The factor is
    an assumption: another machine and another day may add to it.
    """
    is_predicted = all(candidate.prior is not None for candidate in job.candidates)
    assumed = min(errors.one_run, 2 * errors.repeat) if is_predicted else errors.one_run
    squares, freedom = _ASSUMED_REPEATS * assumed**2, _ASSUMED_REPEATS
    for candidate in job.candidates:
        logs = [math.log(run.step_seconds) for run in candidate.quiet]
        if len(logs) > 1:
            squares += variance(logs) * (len(logs) - 1)
            freedom += len(logs) - 1
    one_run = max(errors.repeat, math.sqrt(squares / freedom))
    return replace(errors, one_run=one_run, is_pooled=True)


def compute_job_seconds(one: Run | CandidateSetting, job: Job, *, batch_size: int) -> float | None:
    """Compute the seconds of the job if it went like this run, or with the numbers of this setting.

    None: unknown, the target was missed, or a setting without a quiet run.
    """
    if job.target is not None:
        return one.seconds_to_target
    if one.step_seconds is None or one.fixed_seconds is None:
        return None
    return one.fixed_seconds + job.samples / batch_size * one.step_seconds * (1 + one.checkpoint_share)


def job_level(candidate: CandidateSetting, job: Job, errors: ErrorModel) -> Level | None:
    """Compute the seconds of the job from the quiet runs; None: there are none, or one missed the target.

    They are made of the setting's own numbers, the fixed part and the step, or the parts of its way to the
    target; the deviation is that of the runs.
    """
    seconds = [compute_job_seconds(run, job, batch_size=candidate.batch_size) for run in candidate.quiet]
    finite = [one for one in seconds if one is not None]
    if not finite or any(run.missed_target for run in candidate.quiet if job.target is not None):
        return None
    level = build_level(finite, errors)
    middle = compute_job_seconds(candidate, job, batch_size=candidate.batch_size)
    return level if middle is None else replace(level, mean=math.log(middle))


def least_log_seconds(
    candidates: Sequence[CandidateSetting], job: Job, errors: ErrorModel, *, learned: LearnedSteps | None
) -> list[float]:
    """Compute the logarithms of the seconds of the job, three deviations below their means."""
    steps = (
        [Level(mean=m, deviation=d) for m, d in zip(*learned.marginal(candidates), strict=True)]
        if learned
        else [_predicted_step(one) for one in candidates]
    )

    def least(candidate: CandidateSetting, step: Level | None) -> float:
        level = job_level(candidate, job, errors)
        if level is not None:
            return level.mean - 3 * level.deviation
        assert step is not None, "a setting that is judged was measured or predicted"
        return step.mean + math.log(job.samples / candidate.batch_size) - 3 * step.deviation

    return list(map(least, candidates, steps))


def _predicted_step(candidate: CandidateSetting) -> Level | None:
    prior = candidate.prior
    if prior is None:
        return None
    return Level(mean=prior.log_seconds, deviation=math.hypot(prior.device, prior.network))


def samples_to_target(job: Job) -> Mapping[int, float]:
    """Batch size -> samples until the target, the geometric mean over measured runs that reached it."""
    samples: dict[int, list[int]] = {}
    for candidate in job.candidates:
        for run in candidate.quiet:
            if run.samples_to_target is not None:
                samples.setdefault(candidate.batch_size, []).append(run.samples_to_target)
    return {batch_size: compute_spread(counts).median for batch_size, counts in samples.items()}


def compute_quality(candidate: CandidateSetting, job: Job) -> QualityInterval | None:
    """Compute the quality of the longest runs over seeds, with its 95% interval; None: not known.

    Repeats of a seed count once.
    """
    with_quality = [run for run in candidate.runs if run.quality is not None]
    if job.aim is None or not with_quality:
        return None
    longest = max(run.samples for run in with_quality)
    of_seeds: dict[int, list[float]] = {}
    sizes = []
    for run in with_quality:
        if run.quality is not None and run.samples >= AS_LONG * longest:
            of_seeds.setdefault(run.seed, []).append(run.quality)
            sizes += [] if run.held_out_samples is None else [run.held_out_samples]
    return quality_interval(
        [median(values) for values in of_seeds.values()],
        metric=job.aim.metric,
        held_out_samples=min(sizes, default=None),
    )


def assumed_quality(candidate: CandidateSetting, job: Job) -> QualityInterval | None:
    """Take the quality of a measured setting with the same precision and batch size for one that was not.

    Devices and trainers compute the same function; precision and batch size change what is learned.
    """
    if candidate.runs:
        return compute_quality(candidate, job)
    alike = (candidate.precision, candidate.batch_size)
    twins = (one for one in job.candidates if one.runs and (one.precision, one.batch_size) == alike)
    return next(filter(None, (compute_quality(twin, job) for twin in twins)), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """The judged settings of a job as the acquisition functions need them.

    Attributes:
        judged: settings in the order of the columns.
        steps: posterior of the logarithms of their step seconds, of measured ones of their job seconds.
    """

    judged: tuple[CandidateSetting, ...]
    steps: GaussianPosterior
    objective: ScalarObjective


def build_model(
    judged: Sequence[CandidateSetting],
    job: Job,
    criteria: Criteria,
    errors: ErrorModel,
    *,
    learned: LearnedSteps | None = None,
) -> Model:
    """Join measurements and predictions of settings that can be judged.

    Args:
        learned: estimates of other settings from measured ones; None: there are predictions only.
    """
    conditioned = learned.joint(judged) if learned else _conditioned(judged, job, errors)
    levels = [job_level(candidate, job, errors) for candidate in judged]
    mean, covariance = conditioned.mean.copy(), conditioned.covariance.copy()
    for index, level in enumerate(levels):
        if level is not None:
            covariance[index, :] = covariance[:, index] = 0.0
            mean[index], covariance[index, index] = level.mean, level.deviation**2
    is_measured = np.array([level is not None for level in levels])
    time, cost, quality = criteria.weights
    if quality < 1 and not any(assumed_quality(candidate, job) for candidate in judged):
        time, cost, quality = time / (time + cost), cost / (time + cost), 0.0  # no quality was measured
    objective = criteria.objective
    return Model(
        judged=tuple(judged),
        steps=GaussianPosterior(mean=mean, covariance=covariance),
        objective=ScalarObjective(
            time=time,
            cost=cost,
            log_fixed=_log_fixed(judged, is_measured),
            log_steps=np.where(is_measured, 0.0, _log_steps(judged, job)),
            log_usd=np.log([candidate.compared_usd_per_second for candidate in judged]),
            quality_loss=_quality_loss(judged, job, criteria, weight=quality),
            log_most_seconds=_log(objective.deadline_hours, factor=_SECONDS_PER_HOUR),
            log_most_usd=_log(objective.budget_usd),
            tolerance=criteria.tolerance,
        ),
    )


def _log(limit: float | None, *, factor: float = 1.0) -> float:
    return math.inf if limit is None else math.log(limit * factor)


def _conditioned(judged: Sequence[CandidateSetting], job: Job, errors: ErrorModel) -> GaussianPosterior:
    """Condition predicted steps on the measured ones of the workload, of equal hardware on the fastest.

    Settings that cannot be judged were measured all the same.
    """
    judged_labels = {one.label for one in judged}
    evidence = [one for one in job.candidates if one.quiet and one.label not in judged_labels]
    with_prior = [(one, one.prior) for one in (*judged, *evidence) if one.prior is not None]
    rows = [row for row, one in enumerate(judged) if one.prior is not None]
    mean, covariance = np.zeros(len(judged)), np.zeros((len(judged), len(judged)))
    if not with_prior:
        return GaussianPosterior(mean=mean, covariance=covariance)
    measured: dict[tuple[str, str, int], tuple[int, Level]] = {}
    for index, (one, prior) in enumerate(with_prior):
        if one.quiet:
            level = build_level([run.step_seconds for run in one.quiet], errors)
            key = (prior.hardware, prior.program, prior.batch_size)
            if key not in measured or level.mean < measured[key][1].mean:
                measured[key] = (index, level)
    posterior = compute_posterior([prior for _, prior in with_prior], errors.correlation)
    if measured:
        posterior = posterior.given(
            {index: level.mean for index, level in measured.values()},
            deviation=[level.deviation for _, level in measured.values()],
        )
    count = len(rows)
    mean[rows] = posterior.mean[:count]
    covariance[np.ix_(rows, rows)] = posterior.covariance[:count, :count]
    return GaussianPosterior(mean=mean, covariance=covariance)


def assumed_fixed_seconds(judged: Sequence[CandidateSetting]) -> float:
    """Take the fixed part of settings that were not measured: the median of all measured runs, 0 without."""
    fixed = [run.fixed_seconds for candidate in judged for run in candidate.quiet if run.fixed_seconds > 0]
    return median(fixed) if fixed else 0.0


def assumed_checkpoint_share(judged: Sequence[CandidateSetting]) -> float:
    """Take the share of checkpoints likewise: they are written at times, not after steps."""
    return median([run.checkpoint_share for one in judged for run in one.quiet] or [0.0])


def _log_fixed(judged: Sequence[CandidateSetting], is_measured: FloatArray) -> FloatArray:
    """Return [draw, setting]: -inf for measured settings, because their column is the whole job."""
    assumed_fixed = assumed_fixed_seconds(judged)
    if not assumed_fixed or is_measured.all():
        return np.full(len(judged), -np.inf)
    normal = np.random.default_rng(_SEED).standard_normal((NUM_DRAWS, len(judged)))
    drawn: FloatArray = math.log(assumed_fixed) + _FIXED_DEVIATION * normal
    return np.where(is_measured, -np.inf, drawn)


def _log_steps(judged: Sequence[CandidateSetting], job: Job) -> FloatArray:
    to_target = samples_to_target(job) if job.target is not None else {}
    longer = 1 + assumed_checkpoint_share(judged)
    return np.log([to_target.get(one.batch_size, job.samples) / one.batch_size * longer for one in judged])


def _quality_loss(
    judged: Sequence[CandidateSetting], job: Job, criteria: Criteria, *, weight: float
) -> FloatArray:
    """[draw, setting] shortfall over the size of the best quality; infinite where it is below the floor."""
    if not (weight or criteria.objective.quality is not None):
        return np.zeros(len(judged))
    qualities = [assumed_quality(candidate, job) for candidate in judged]
    values = [quality for quality in qualities if quality is not None]
    if not values or job.aim is None:
        return np.zeros(len(judged))
    size = max(abs(quality.estimate) for quality in values) or 1.0
    middle = median(quality.estimate for quality in values)
    estimates = np.array([middle if quality is None else quality.estimate for quality in qualities])
    widths = np.array([math.inf if quality is None else quality.high - quality.low for quality in qualities])
    is_bounded = np.isfinite(widths)
    deviations = np.where(is_bounded, widths / 2 / Z_95, 0.0)
    compared = np.where(is_bounded, estimates, middle)  # without an interval no difference is shown
    if criteria.objective.goal == "best":
        compared, deviations = estimates, np.where(is_bounded, deviations, _UNKNOWN_DEVIATION * size)
    sign = -1.0 if job.aim.higher_is_better else 1.0
    loss: FloatArray = np.broadcast_to(np.zeros(len(judged)), (NUM_DRAWS, len(judged)))
    if weight:
        normal = np.random.default_rng(_SEED + 1).standard_normal((NUM_DRAWS, len(judged)))
        loss = weight * sign * (compared + deviations * normal) / size
    floor = compute_loss(criteria.objective.quality, job.aim)
    if floor is not None:
        loss = np.where(sign * estimates <= floor, loss, np.inf)
    return loss
