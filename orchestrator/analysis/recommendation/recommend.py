"""(settings of one job, criteria) -> the answer: which one to take, how sure that is, what is next. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator.analysis.recommendation.answer.answer import (
    AnswerState,
    NextTrial,
    RankedSetting,
    Recommendation,
)
from orchestrator.analysis.recommendation.answer.decide import compare_runner_up
from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.answer.next_step import choose_next_step
from orchestrator.analysis.recommendation.answer.reasons import list_caveats, list_reasons
from orchestrator.analysis.recommendation.answer.standings import rank_settings
from orchestrator.analysis.recommendation.answer.trials import list_next_trials
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.model.candidate import Job
from orchestrator.analysis.recommendation.model.criteria import Criteria, build_criteria, describe_objective
from orchestrator.analysis.recommendation.model.model import INDEPENDENT
from orchestrator.core.estimate import ErrorModel
from orchestrator.core.interval import Spread
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Results that follow from the settings that can be judged; empty where there are none."""

    state: AnswerState
    chosen: str | None = None
    tied: tuple[str, ...] = ()
    chosen_by: str = ""
    runner_up: str = ""
    ahead: Spread | None = None
    standings: tuple[RankedSetting, ...] = ()
    trials: tuple[NextTrial, ...] = ()


def recommend(job: Job, criteria: Criteria, errors: ErrorModel) -> Recommendation:
    """Answer the question of one job."""
    view = judge(job, criteria, errors)
    excluded, candidates = view.excluded, view.candidates
    besides_seconds = compute_overhead_seconds(job)
    judged = _judge(view, job, criteria, besides_seconds=besides_seconds)
    is_by_quality = criteria.weights[2] == 1
    runs = [run for candidate in job.candidates for run in candidate.runs]
    return Recommendation(
        job=job.where,
        asked=describe_objective(criteria.objective, job.aim),
        aim=job.aim,
        basis=job.length,
        samples=job.samples if job.target is None else None,
        epoch_samples=job.epoch_samples,
        confidence=criteria.confidence,
        tolerance=criteria.tolerance,
        budget_usd=criteria.budget_usd,
        state=judged.state,
        standings=judged.standings,
        chosen=judged.chosen,
        tied=judged.tied,
        chosen_by=judged.chosen_by,
        runner_up=judged.runner_up,
        ahead=judged.ahead,
        is_by_cost=criteria.objective.goal == "cheapest",
        is_by_quality=is_by_quality,
        caveats=tuple(list_caveats(candidates, job, criteria)),
        reasons=tuple(list_reasons(judged.state, judged.standings, excluded, tolerance=criteria.tolerance)),
        next_step=choose_next_step(
            judged.state,
            job,
            excluded,
            judged.trials,
            chosen=judged.chosen,
            tied=judged.tied,
            besides_seconds=besides_seconds,
            is_by_quality=is_by_quality,
        ),
        errands=judged.trials,
        left_out=excluded,
        is_limit=job.target is not None,
        besides_seconds=besides_seconds,
        num_trials=len(runs),
        num_noisy=sum(run.is_noisy for run in runs),
        length=job.known_length if job.target is None else "",
        input=job.input,
    )


def _judge(view: Judgement, job: Job, criteria: Criteria, *, besides_seconds: float | None) -> _Judged:
    """Decide among the settings that can be judged."""
    model, assessment, decision = view.model, view.assessment, view.decision
    candidates, errors = view.candidates, view.errors
    if model is None or assessment is None:
        return _Judged(state=decision.state)
    chosen, is_answered = decision.chosen, decision.state in ("settled", "tie")
    runner_up, ahead = "", None
    if chosen is not None:
        runner_up, ahead = compare_runner_up(chosen, model, assessment, job, criteria, errors=errors)
    trials: list[NextTrial] = []
    if decision.state not in ("settled", "none"):
        trials = list_next_trials(model, assessment, job, criteria, errors, besides_seconds or 0.0)
    return _Judged(
        state=decision.state,
        chosen=None if chosen is None else candidates[chosen].label,
        tied=tuple(candidates[index].label for index in decision.tied),
        chosen_by=decision.chosen_by,
        runner_up=runner_up,
        ahead=ahead,
        standings=rank_settings(
            model, assessment, job, errors, first=chosen if is_answered else assessment.leader
        ),
        trials=tuple(trials),
    )


def compute_overhead_seconds(job: Job) -> float | None:
    """Compute what a trial takes beside its steps, the median over measured ones; None: there are none."""
    parts = [
        max(0.0, run.trial_seconds - run.samples / candidate.batch_size * run.step_seconds)
        for candidate in job.candidates
        for run in candidate.quiet
        if not run.is_resumed
    ]
    return median(parts) if parts else None


def build_recommendations(
    records: Sequence[TrialRecord], plan: Plan, objective: Objective
) -> tuple[Recommendation, ...]:
    """Answer the question of every job of a sweep.

    Args:
        records: records that stand, of trials of the plan.
    """
    criteria = build_criteria(plan.search, objective)
    errors = plan.error_model or INDEPENDENT
    return tuple(recommend(job, criteria, errors) for job in jobs_of_plan(records, plan, objective))
