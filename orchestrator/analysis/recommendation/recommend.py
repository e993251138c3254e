"""(settings of one job, criteria) -> the answer: which one to take, how sure that is, what is next. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from statistics import median

import numpy as np

from orchestrator.analysis.formatting import counted, exact_percent, first_names
from orchestrator.analysis.recommendation.answer.answer import NextTrial, RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.decide import SHOWN
from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.answer.next_step import choose_next_step, command_for
from orchestrator.analysis.recommendation.answer.standings import compare_runner_up, rank_settings
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.model.acquisition import Assessment, Proposal, measurement_plan
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria, build_criteria, describe_objective
from orchestrator.analysis.recommendation.model.model import AS_LONG, INDEPENDENT, assumed_quality
from orchestrator.analysis.recommendation.model.posterior import FloatArray
from orchestrator.core.estimate import ErrorModel
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_progress import Target

_MOST_RIVALS = 3  # named in a sentence; the table has the others
_MOST_TRIALS = 10  # the list changes with every result
_SECONDS_PER_HOUR = 3600


def recommend(job: Job, criteria: Criteria, errors: ErrorModel) -> Recommendation:
    """Answer the question of one job."""
    view = judge(job, criteria, errors)
    decision, candidates = view.decision, view.candidates
    runner_up, ahead = compare_runner_up(view, job, criteria)
    standings = rank_settings(view, job)
    besides_seconds = compute_overhead_seconds(job)
    trials = list_next_trials(view, job, criteria, besides_seconds or 0.0)
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
        state=decision.state,
        standings=standings,
        chosen=None if decision.chosen is None else candidates[decision.chosen].label,
        tied=tuple(candidates[index].label for index in decision.tied),
        chosen_by=decision.chosen_by,
        runner_up=runner_up,
        ahead=ahead,
        is_by_cost=criteria.objective.goal == "cheapest",
        is_by_quality=is_by_quality,
        caveats=tuple(list_caveats(candidates, job, criteria)),
        reasons=tuple(list_reasons(view, standings, tolerance=criteria.tolerance)),
        next_step=choose_next_step(
            view, job, trials, besides_seconds=besides_seconds, is_by_quality=is_by_quality
        ),
        errands=trials,
        left_out=view.excluded,
        is_limit=job.target is not None,
        besides_seconds=besides_seconds,
        num_trials=len(runs),
        num_noisy=sum(run.is_noisy for run in runs),
        length=job.known_length if job.target is None else _name_target(job.target),
        input=job.input,
    )


def _name_target(target: Target) -> str:
    return f"to {target.metric} {target.value:g}"


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


def list_caveats(judged: Sequence[CandidateSetting], job: Job, criteria: Criteria) -> list[str]:
    """List the limits of the comparison."""
    caveats = []
    if job.target is None and len({one.batch_size for one in judged}) > 1:
        caveats.append(
            "Batch sizes differ, so qualities after equally many samples may too. "
            "`measure.target=workload` compares the time to a quality."
        )
    objective = criteria.objective
    if job.target is not None and (objective.samples or objective.epochs or objective.tokens):
        caveats.append("The job ends at its target, so report.samples, .epochs and .tokens decide nothing.")
    longest = max((run.samples for one in judged for run in one.runs), default=0)
    is_judged = criteria.weights[2] > 0 or criteria.objective.quality is not None
    assumed = [quality for one in judged if (quality := assumed_quality(one, job)) is not None]
    if is_judged and assumed and job.target is None and longest < AS_LONG * job.samples:
        caveats.append(f"Quality was measured after {longest:,} samples at most, not at the end of the job.")
    if criteria.objective.goal == "balanced" and any(
        math.isinf(quality.high - quality.low) for quality in assumed
    ):
        caveats.append(
            "Quality is left out of the balance where no interval of it is known: more seeds give one."
        )
    if any(isinstance(one.price, Price) and one.price.nodes > 1 and not one.runs for one in judged):
        caveats.append("Predicted times leave out the network between several machines.")
    return caveats


def list_reasons(view: Judgement, standings: Sequence[RankedSetting], *, tolerance: float) -> list[str]:
    """Explain why an answer is not settled."""
    if view.decision.state in ("settled", "tie"):
        return []
    reasons = []
    rivals = sorted(
        (one for one in standings if one.provenance != "measured" and one.chance >= SHOWN),
        key=lambda one: -one.chance,
    )
    if rivals:
        names = first_names([f"{one.setting} ({chance(one.chance)})" for one in rivals], most=_MOST_RIVALS)
        reasons.append(f"chance to be the best, {_bases(rivals)}: {names}")
    by_reason = Counter(one.reason for one in sorted(view.excluded, key=lambda one: not one.may_be_best))
    reasons += [f"{counted(count, 'setting')} not judged: {reason}" for reason, count in by_reason.items()]
    if not reasons and standings:
        best = max(standings, key=lambda one: one.chance)
        reasons.append(
            f"the likeliest is {best.setting}: within the limits and {exact_percent(tolerance)} of the best "
            f"with a chance of {chance(best.chance)}"
        )
    return reasons


def _bases(rivals: Sequence[RankedSetting]) -> str:
    """`predicted`, `compiled`, or `predicted or compiled`."""
    return " or ".join(sorted({one.provenance for one in rivals}, reverse=True))


def list_next_trials(
    view: Judgement, job: Job, criteria: Criteria, besides_seconds: float
) -> tuple[NextTrial, ...]:
    """List unmeasured settings in the order to measure them; none where the answer needs no trial."""
    model, assessment = view.model, view.assessment
    if model is None or assessment is None or view.decision.state in ("settled", "none"):
        return ()
    steps = np.array([candidate.steps for candidate in model.judged])
    seconds = steps * np.exp(model.steps.mean) + besides_seconds
    usd = np.array(
        [candidate.billed_usd(one) for candidate, one in zip(model.judged, seconds.tolist(), strict=True)]
    )
    costs = np.where(np.isnan(usd).any(), seconds, usd)
    costs[[index for index, one in enumerate(model.judged) if one.runs]] = math.inf
    planned = measurement_plan(
        model.steps,
        model.objective,
        costs,
        assessment=assessment,
        left=math.inf if criteria.budget_usd is None else criteria.budget_usd,
        confidence=criteria.confidence,
        repeat=view.errors.repeat,
    )
    proposals = list(islice(planned, _MOST_TRIALS)) or _leader_first(assessment, costs, criteria)
    return tuple(
        _trial(model.judged[one.setting], one, job, seconds=float(seconds[one.setting]), chance_then=then)
        for one, then in proposals
    )


def _leader_first(
    assessment: Assessment, costs: FloatArray, criteria: Criteria
) -> list[tuple[Proposal, float]]:
    """Propose the leader if it was not measured: a prediction, however sure, is not a measurement."""
    leader = assessment.leader
    left = math.inf if criteria.budget_usd is None else criteria.budget_usd
    if not assessment.chance or not math.isfinite(costs[leader]) or costs[leader] > left:
        return []
    return [(Proposal(setting=leader, chance=assessment.chance, gain=0.0), assessment.chance)]


def _trial(
    candidate: CandidateSetting, proposal: Proposal, job: Job, *, seconds: float, chance_then: float
) -> NextTrial:
    usd = candidate.billed_usd(seconds)
    return NextTrial(
        setting=candidate.label,
        hours=seconds / _SECONDS_PER_HOUR,
        usd=None if math.isnan(usd) else usd,
        price_marks=candidate.price_marks,
        chance=proposal.chance,
        gain=proposal.gain,
        chance_then=chance_then,
        command=command_for([candidate], job, more=["sweep.repeats=1"]),
    )
