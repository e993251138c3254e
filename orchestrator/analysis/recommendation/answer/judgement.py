"""(settings of one job, criteria) -> judged settings, their chances, and the state of the answer. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.recommendation.answer.answer import ExcludedSetting
from orchestrator.analysis.recommendation.answer.decide import Decision, decide
from orchestrator.analysis.recommendation.answer.exclusion import (
    exclude_doubtful,
    explain_exclusion,
    find_lesson,
)
from orchestrator.analysis.recommendation.model.acquisition import Assessment, assess
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria, compute_loss
from orchestrator.analysis.recommendation.model.factors import find_factors, has_new_level
from orchestrator.analysis.recommendation.model.learned_steps import LearnedSteps, learn
from orchestrator.analysis.recommendation.model.model import (
    Model,
    assumed_quality,
    build_model,
    job_level,
    least_log_seconds,
    pooled_errors,
)
from orchestrator.core.estimate import ErrorModel

MOST_SETTINGS = 500
"""Most settings of one job: the time of an assessment grows with the third power of their number."""

MOST_SEARCHED = 150
"""The same for a search, which assesses a job before every trial."""

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """Judged settings of a job, and the decision among them.

    Attributes:
        candidates: settings that are judged, in the order of the model.
        excluded: the others, with the reasons.
        is_open: a setting that is not judged may be the best.
        errors: error model, with the deviation of one run that the repeats of this job show.
        model, assessment: None where no setting is judged.
        learned: estimates of other settings from measured ones; None: there are predictions only.
    """

    candidates: tuple[CandidateSetting, ...]
    excluded: tuple[ExcludedSetting, ...]
    is_open: bool
    errors: ErrorModel
    decision: Decision
    model: Model | None = None
    assessment: Assessment | None = None
    learned: LearnedSteps | None = None


def judge(job: Job, criteria: Criteria, errors: ErrorModel) -> Judgement:
    """Judge the settings of a job, and decide among them."""
    learned = None
    if criteria.learns:  # draws go by column: the order in which records came must not matter
        job = replace(job, candidates=tuple(sorted(job.candidates, key=lambda one: one.label)))
        errors = pooled_errors(job, errors)
        learned = learn(job, errors)
    candidates, excluded = _divided(job, criteria, errors, learned)
    is_open = not job.candidates or any(one.may_be_best for one in excluded)
    if not candidates:
        decision = Decision(state="not settled" if is_open else "none")
        return Judgement(candidates=(), excluded=excluded, is_open=is_open, errors=errors, decision=decision)
    measured = replace(job, candidates=tuple(one for one in job.candidates if one.runs))
    model = build_model(candidates, measured, criteria, errors, learned=learned)
    assessment = assess(model.steps, model.objective)
    return Judgement(
        candidates=tuple(candidates),
        excluded=excluded,
        is_open=is_open,
        errors=errors,
        decision=decide(model, assessment, measured, criteria, is_open=is_open),
        model=model,
        assessment=assessment,
        learned=learned,
    )


def _divided(
    job: Job, criteria: Criteria, errors: ErrorModel, learned: LearnedSteps | None
) -> tuple[Sequence[CandidateSetting], tuple[ExcludedSetting, ...]]:
    """Divide the settings into those that are judged, and the others."""
    failed = [one for one in job.candidates if one.failure_kinds] if criteria.learns else []
    measured = [one for one in job.candidates if one.runs]
    shown = {pair for one in job.candidates if one.steps_seen for pair in find_factors(one).items()}

    def is_learned(one: CandidateSetting) -> bool:
        return learned is not None and (one.prior is not None or not has_new_level(one, shown))

    exclusions = [
        (
            one,
            find_lesson(one, failed, measured)
            or explain_exclusion(one, job, criteria, is_learned=is_learned(one)),
        )
        for one in job.candidates
    ]
    exclusions = exclude_doubtful(exclusions)
    candidates, unpromising = most_promising(
        [candidate for candidate, exclusion in exclusions if not exclusion],
        job,
        criteria,
        errors,
        learned=learned,
    )
    return candidates, (*(exclusion for _, exclusion in exclusions if exclusion), *unpromising)


def most_promising(
    candidates: Sequence[CandidateSetting],
    job: Job,
    criteria: Criteria,
    errors: ErrorModel,
    *,
    learned: LearnedSteps | None = None,
) -> tuple[list[CandidateSetting], list[ExcludedSetting]]:
    """Keep the settings that are best if all that is uncertain turns out well, the measured ones first."""
    most = MOST_SETTINGS if learned is None else MOST_SEARCHED
    if len(candidates) <= most:
        return list(candidates), []
    time, cost, better = criteria.weights
    needs_quality = bool(criteria.needs_quality or better)
    objective = criteria.objective
    most_seconds = (
        math.inf if objective.deadline_hours is None else objective.deadline_hours * _SECONDS_PER_HOUR
    )
    most_usd = math.inf if objective.budget_usd is None else objective.budget_usd
    floor = compute_loss(objective.quality, job.aim)
    labels = [candidate.label for candidate in candidates]
    log_seconds = least_log_seconds(candidates, job, errors, learned=learned)
    least = dict(zip(labels, log_seconds, strict=True))

    def promise(candidate: CandidateSetting, log_seconds: float) -> tuple[bool, bool, float]:
        quality = assumed_quality(candidate, job) if needs_quality else None
        loss = compute_loss(quality.estimate, job.aim) if quality else None
        seconds, usd_per_second = math.exp(log_seconds), candidate.usd_per_second
        breaks = (
            seconds > most_seconds
            or seconds * usd_per_second > most_usd
            or (floor is not None and (loss is None or loss > floor))
        )
        log_usd = math.log(candidate.compared_usd_per_second) if cost else 0.0
        value = (time + cost) * log_seconds + cost * log_usd + better * (loss or 0.0)
        return breaks, not candidate.quiet, value

    ranked = sorted(candidates, key=lambda one: promise(one, least[one.label]))
    surely = [
        promise(one, level.mean + 3 * level.deviation)
        for one in ranked[:most]
        if (level := job_level(one, job, errors)) is not None
    ]
    bar = min((value for breaks, _, value in surely if not breaks), default=math.inf)
    reason = f"not among the {most:,} most promising of {len(candidates):,} settings"
    may_be_best = [not one.quiet and promise(one, least[one.label])[2] < bar for one in ranked[most:]]
    return ranked[:most], [
        ExcludedSetting(setting=one.label, reason=reason, to_measure="fewer settings", may_be_best=may_be)
        for one, may_be in zip(ranked[most:], may_be_best, strict=True)
    ]
