"""(settings of one job, criteria) -> judged settings, their chances, and the state of the answer. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.recommendation.answer.answer import ExcludedSetting
from orchestrator.analysis.recommendation.answer.decide import Decision, decide
from orchestrator.analysis.recommendation.answer.exclusion import (
    exclude_doubtful,
    explain_exclusion,
    find_lesson,
)
from orchestrator.analysis.recommendation.answer.promising import most_promising
from orchestrator.analysis.recommendation.model.acquisition import Assessment, assess
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.factors import find_factors, has_new_level
from orchestrator.analysis.recommendation.model.learned_steps import LearnedSteps, learn
from orchestrator.analysis.recommendation.model.model import Model, build_model, pooled_errors
from orchestrator.core.estimate import ErrorModel


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
