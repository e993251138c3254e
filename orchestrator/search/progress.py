"""(decision on a job, its judgement) -> its progress, for a person and for programs. Pure."""

import math

from orchestrator.analysis.recommendation.answer.judgement import Judgement
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.core.search import JobProgress
from orchestrator.search.costs import TrialCosts
from orchestrator.search.decision import Choice, Stop


def build_progress(job: Job, view: Judgement, decision: Choice | Stop) -> JobProgress:
    """Sum up how far the search of a job is."""
    leader = decision.leader
    is_choice = isinstance(decision, Choice)
    runs = [(one, run.trial_seconds) for one in job.candidates for run in one.runs]
    pruned = [(one, early.trial_seconds) for one in job.candidates for early in one.pruned]
    grid_seconds, grid_usd = _sum_grid(job, view)
    return JobProgress(
        job=job.where,
        num_settings=len(job.candidates),
        num_measured=sum(bool(one.runs) for one in job.candidates),
        num_trials=len(runs),
        num_pruned=len(pruned),
        leader=leader.setting if leader else "",
        chance=leader.chance if leader else 0.0,
        is_measured=leader is not None and leader.is_measured,
        next_setting=decision.setting if isinstance(decision, Choice) else "",
        why=decision.why,
        stop="" if is_choice else str(getattr(decision, "reason", "")),
        seconds=math.fsum(seconds for _, seconds in (*runs, *pruned)),
        usd=_sum(one.billed_usd(seconds) for one, seconds in (*runs, *pruned)),
        grid_seconds=grid_seconds,
        grid_usd=grid_usd,
    )


def _sum_grid(job: Job, view: Judgement) -> tuple[float | None, float | None]:
    """Sum one trial of every setting that may run; None, None before any time is known."""
    left = [one for one in job.candidates if not one.failure_kinds]
    known = {one.label for one in view.candidates}
    if not any(one.quiet or one.label in known for one in left):
        return None, None
    costs = TrialCosts(job, view, in_usd=True)
    return math.fsum(map(costs.estimate_seconds, left)), _sum(_usd(costs, one) for one in left)


def _usd(costs: TrialCosts, one: CandidateSetting) -> float:
    usd = costs.compute_usd(one)
    return math.nan if usd is None else usd


def _sum(values: object) -> float | None:
    total = math.fsum(values)  # type: ignore[arg-type]
    return None if math.isnan(total) else total
