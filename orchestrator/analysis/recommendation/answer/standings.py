"""(model and assessment of a job) -> its settings with their measurements and predictions, ranked. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median, stdev

import numpy as np

from orchestrator.analysis.metrics.quality import shown_better
from orchestrator.analysis.recommendation.answer.answer import RankedSetting
from orchestrator.analysis.recommendation.answer.judgement import Judgement
from orchestrator.analysis.recommendation.model.acquisition import Assessment
from orchestrator.analysis.recommendation.model.candidate import Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.factors import find_factors
from orchestrator.analysis.recommendation.model.model import (
    Level,
    Model,
    assumed_checkpoint_share,
    assumed_fixed_seconds,
    assumed_quality,
    job_level,
)
from orchestrator.analysis.recommendation.model.posterior import FloatArray
from orchestrator.core.estimate import ErrorModel
from orchestrator.core.interval import Spread
from orchestrator.core.placement import Aim


def with_front(settings: Sequence[RankedSetting], aim: Aim | None) -> tuple[RankedSetting, ...]:
    """Mark the front: a setting leaves it only if another one is shown better and in nothing shown worse."""
    measured = [one for one in settings if one.provenance == "measured"]
    return tuple(
        replace(one, on_front=one in measured and not any(_beats(other, one, aim) for other in measured))
        for one in settings
    )


def _beats(one: RankedSetting, other: RankedSetting, aim: Aim | None) -> bool:
    verdicts = [_compare_low(one.seconds, other.seconds), _compare_low(one.usd, other.usd)]
    if aim is not None and one.quality is not None and other.quality is not None:
        is_better = shown_better(one.quality, other.quality, higher_is_better=aim.higher_is_better)
        is_worse = shown_better(other.quality, one.quality, higher_is_better=aim.higher_is_better)
        verdicts.append(is_better - is_worse)
    return 1 in verdicts and -1 not in verdicts


def _compare_low(one: Spread | None, other: Spread | None) -> int:
    """1: shown less, -1: shown more, 0: the intervals overlap, or one is not known."""
    if one is None or other is None:
        return 0
    return (one.high < other.low) - (other.high < one.low)


def compare_runner_up(view: Judgement, job: Job, criteria: Criteria) -> tuple[str, Spread | None]:
    """Compare the choice with the next best measured setting, by cost if that is the goal, else by time."""
    model, assessment, chosen = view.model, view.assessment, view.decision.chosen
    if model is None or assessment is None or chosen is None:
        return "", None
    levels = {
        index: level
        for index, one in enumerate(model.judged)
        if (level := job_level(one, job, view.errors)) is not None
    }
    others = [index for index in levels if index != chosen]
    others = [index for index in others if assessment.chances[index]] or others
    if not others:
        return "", None
    other = min(others, key=lambda index: float(np.median(assessment.value[:, index])))
    difference = levels[other].mean - levels[chosen].mean
    if criteria.objective.goal == "cheapest":
        if 0 in (model.judged[chosen].usd_per_second, model.judged[other].usd_per_second):
            return model.judged[other].label, None  # a reserved device has no ratio of costs
        difference += float(model.objective.log_usd[other] - model.objective.log_usd[chosen])
    deviation = math.hypot(levels[other].deviation, levels[chosen].deviation)
    return model.judged[other].label, Level(mean=difference, deviation=deviation).spread


def rank_settings(view: Judgement, job: Job) -> tuple[RankedSetting, ...]:
    """Rank the judged settings by their chance, below the one to take or, while that is open, the leader."""
    model, assessment, decision = view.model, view.assessment, view.decision
    if model is None or assessment is None:
        return ()
    first = decision.chosen if decision.state in ("settled", "tie") else assessment.leader
    order = sorted(
        range(len(model.judged)),
        key=lambda index: (
            index != first,
            -round(float(assessment.chances[index]), 2),
            float(np.median(assessment.value[:, index])),
        ),
    )
    return with_front([_standing(index, model, assessment, job, view.errors) for index in order], job.aim)


def _standing(
    index: int, model: Model, assessment: Assessment, job: Job, errors: ErrorModel
) -> RankedSetting:
    candidate = model.judged[index]
    level = job_level(candidate, job, errors)
    step = _compute_step(index, model, errors)
    fixed_seconds = candidate.fixed_seconds
    checkpoint_share = candidate.checkpoint_share
    if fixed_seconds is None:
        fixed_seconds = assumed_fixed_seconds(model.judged)
        checkpoint_share = assumed_checkpoint_share(model.judged)
    if level:
        seconds = level.spread
    else:
        likely = fixed_seconds + math.exp(float(model.objective.log_steps[index])) * step.median
        seconds = _around(likely, assessment.log_seconds[:, index])
    usd_per_second = candidate.usd_per_second
    measured = (candidate,) if candidate.quiet else model.judged
    evaluations = [run.last_evaluation_seconds for one in measured for run in one.quiet]
    noisy = [run for run in candidate.runs if run.is_noisy]
    return RankedSetting(
        setting=candidate.label,
        provenance=candidate.provenance,
        num_runs=len(candidate.runs),
        num_noisy=candidate.num_noisy,
        num_outliers=candidate.num_outliers,
        num_resumed=sum(run.is_resumed for run in candidate.runs),
        factors=find_factors(candidate),
        batch_size=candidate.batch_size,
        low=step.low,
        likely=step.median,
        high=step.high,
        rates=tuple(candidate.batch_size / run.step_seconds for run in candidate.quiet),
        noisy_rates=tuple(candidate.batch_size / run.step_seconds for run in noisy),
        fixed_seconds=fixed_seconds,
        usd_per_second=None if math.isnan(usd_per_second) else usd_per_second,
        price_marks=candidate.price_marks,
        chance=float(assessment.chances[index]),
        chance_within_limits=float(np.isfinite(assessment.value[:, index]).mean()),
        seconds=seconds,
        usd=None if math.isnan(usd_per_second) else seconds.times(usd_per_second),
        quality=assumed_quality(candidate, job) if candidate.runs else None,
        is_rented=candidate.is_rented,
        price=candidate.price,
        checkpoint_seconds=candidate.checkpoint_seconds,
        checkpoint_share=checkpoint_share,
        evaluation_seconds=median(evaluations) if evaluations else 0.0,
        doubt=candidate.doubt,
        quality_samples=max((run.samples for run in candidate.runs), default=0),
    )


def _around(likely: float, log_seconds: FloatArray) -> Spread:
    """Give a predicted time the interval that holds 90 of 100 draws."""
    low, high = np.exp(np.quantile(log_seconds, (0.05, 0.95))).tolist()
    return Spread(median=likely, low=min(low, likely), high=max(high, likely))


def _compute_step(index: int, model: Model, errors: ErrorModel) -> Spread:
    """Give the seconds of one further step: 90 of 100 measurements are to lie within."""
    logs = [math.log(run.step_seconds) for run in model.judged[index].quiet]
    if logs:
        is_known = len(logs) > 1 and not errors.is_pooled
        one_run = max(errors.repeat, stdev(logs)) if is_known else errors.one_run
        mean, deviation = fmean(logs), one_run * math.sqrt(1 + 1 / len(logs))
    else:
        mean = float(model.steps.mean[index])
        deviation = math.hypot(float(model.steps.deviation[index]), errors.repeat)
    half = errors.quantile * deviation
    return Spread(median=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))
