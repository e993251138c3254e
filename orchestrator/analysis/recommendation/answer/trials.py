"""(model of a job) -> the trials to measure, in order, with their price. Pure."""

import math
from itertools import islice

import numpy as np

from orchestrator.analysis.recommendation.answer.answer import NextTrial
from orchestrator.analysis.recommendation.answer.next_step import command_for
from orchestrator.analysis.recommendation.model.acquisition import Assessment, Proposal, measurement_plan
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.model import Model
from orchestrator.analysis.recommendation.model.posterior import FloatArray
from orchestrator.core.estimate import ErrorModel

_MOST_TRIALS = 10  # the list changes with every result
_SECONDS_PER_HOUR = 3600


def list_next_trials(
    model: Model,
    assessment: Assessment,
    job: Job,
    criteria: Criteria,
    errors: ErrorModel,
    besides_seconds: float,
) -> list[NextTrial]:
    """List unmeasured settings in the order to measure them."""
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
        repeat=errors.repeat,
    )
    proposals = list(islice(planned, _MOST_TRIALS)) or _leader_first(assessment, costs, criteria)
    return [
        _trial(model.judged[one.setting], one, job, seconds=float(seconds[one.setting]), chance_then=then)
        for one, then in proposals
    ]


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
