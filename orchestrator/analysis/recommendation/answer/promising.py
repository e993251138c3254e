"""(settings of one job, criteria) -> those that may be the best, where there are very many. Pure."""

import math
from collections.abc import Sequence

from orchestrator.analysis.recommendation.answer.answer import ExcludedSetting
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria, compute_loss
from orchestrator.analysis.recommendation.model.learned_steps import LearnedSteps
from orchestrator.analysis.recommendation.model.model import assumed_quality, job_level, least_log_seconds
from orchestrator.core.estimate import ErrorModel

MOST_SETTINGS = 500
"""Most settings of one job: the time of an assessment grows with the third power of their number."""

MOST_SEARCHED = 150
"""The same for a search, which assesses a job before every trial."""

_SECONDS_PER_HOUR = 3600


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
