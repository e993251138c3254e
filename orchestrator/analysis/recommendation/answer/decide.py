"""(assessment of a job) -> state of the answer, the setting to take, and what it is tied with. Pure.

The answer is *settled* if the leading setting was measured, is good with the requested confidence,
and no measured rival is better with a chance above 2.5%. It is a *tie* if measured settings share the lead
and together hold a good one with that confidence. Otherwise it is *not settled*. Predicted settings count in
all of these chances. Settings about which nothing is known keep the answer open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.metrics.quality import shown_better
from orchestrator.analysis.recommendation.answer.answer import AnswerState
from orchestrator.analysis.recommendation.model.acquisition import Assessment, judge
from orchestrator.analysis.recommendation.model.candidate import Job
from orchestrator.analysis.recommendation.model.criteria import Criteria, compute_loss
from orchestrator.analysis.recommendation.model.model import INDEPENDENT, Model, assumed_quality, job_level
from orchestrator.analysis.recommendation.model.posterior import FloatArray

SHOWN = 0.025
"""One-sided: a rival that is better with a lower chance is shown not to be."""

_LIKELY = 0.5
_ABOUT_AS_LIKELY = 0.5
_EQUAL = 0.02  # difference of chances that says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The state of an answer.

    Attributes:
        chosen: the measured setting to take; None: none can be recommended.
        tied: settings that share the lead with it, itself included; empty: none.
        chosen_by: criterion that decides among these.
    """

    state: AnswerState
    chosen: int | None = None
    tied: tuple[int, ...] = ()
    chosen_by: str = ""


def decide(model: Model, assessment: Assessment, job: Job, criteria: Criteria, *, is_open: bool) -> Decision:
    """Decide among the settings of a model.

    Args:
        is_open: a setting that cannot be judged may be the best.
    """
    measured = [index for index, one in enumerate(model.judged) if job_level(one, job, INDEPENDENT)]
    value = assessment.value
    keeps = np.isfinite(value)
    if float(keeps.any(axis=1).mean()) < 1 - criteria.confidence and not is_open:
        return Decision(state="none")
    if not measured:
        return Decision(state="not settled")
    ran = assessment
    if assessment.leader not in measured:
        # Only a wide interval reaches a prediction that is far ahead: what ran is judged among itself.
        alone = np.isin(np.arange(value.shape[1]), measured)
        ran = judge(np.where(alone, value, np.inf), assessment.log_seconds, model.objective.tolerance)
    best = ran.leader
    if float(np.isfinite(ran.value[:, best]).mean()) < _LIKELY:
        return Decision(state="not settled")  # it likely breaks a limit
    rivals = [index for index in measured if index != best and _may_beat(value, index, best)]
    group = [best, *rivals]
    together = float(assessment.good[:, group].any(axis=1).mean())
    chosen, chosen_by = _chosen_among(_sound(group, ran.chances, criteria), model, assessment, job)
    is_settled = together >= criteria.confidence and not is_open
    state: AnswerState = ("tie" if rivals else "settled") if is_settled else "not settled"
    return Decision(
        state=state, chosen=chosen, tied=tuple(group) if rivals else (), chosen_by=chosen_by if rivals else ""
    )


def _sound(group: Sequence[int], chances: FloatArray, criteria: Criteria) -> list[int]:
    """Keep the tied settings that are good with the requested confidence, else those about as likely good.

    A rival that is hardly ever good, or that likely breaks a limit, is not taken for its lower cost.
    """
    best = float(chances[list(group)].max())
    about_as_likely = min(best * _ABOUT_AS_LIKELY, best - _EQUAL)
    least = criteria.confidence if best >= criteria.confidence else about_as_likely
    return [one for one in group if chances[one] >= least]


def _may_beat(value: FloatArray, rival: int, leader: int) -> bool:
    """Return whether the rival beats the leader in more draws than its interval excludes.

    Of draws in which both keep to the limits and are equal, half count.
    """
    own, others = value[:, rival], value[:, leader]
    ahead = (own < others).mean() + ((own == others) & np.isfinite(own)).mean() / 2
    return float(ahead) > SHOWN


def _chosen_among(group: Sequence[int], model: Model, assessment: Assessment, job: Job) -> tuple[int, str]:
    """Choose by shown cost, then by shown quality, then by shown time, then by the median of the objective.

    A setting is left out by a criterion if the best one of the criterion is shown better.
    """
    left, chosen_by = list(group), []
    log_usd = model.objective.log_usd
    cost = assessment.log_seconds + log_usd

    def narrow(name: str, kept: list[int]) -> None:
        nonlocal left
        if len(kept) < len(left):
            left = kept
            chosen_by.append(name)

    priced = [one for one in left if np.isfinite(log_usd[one])]
    if priced:
        narrow("cost", [one for one in left if one not in priced or one in _least(priced, cost)])
    if job.aim is not None:
        narrow(job.aim.metric, _best_quality(left, model, job))
    narrow("time", _least(left, assessment.log_seconds))
    return _best_mean(left, model, assessment, job), ", then ".join(chosen_by)


def _best_mean(among: Sequence[int], model: Model, assessment: Assessment, job: Job) -> int:
    """Choose by the estimate itself, as a quality without an interval has no draws."""
    medians = np.median(assessment.value[:, among], axis=0)
    losses = [
        compute_loss(quality.estimate if quality else None, job.aim) or 0.0
        for quality in (assumed_quality(model.judged[one], job) for one in among)
    ]
    is_by_quality = not (model.objective.time or model.objective.cost)
    return among[int(np.argmin(losses if is_by_quality else medians))]


def _least(among: Sequence[int], value: FloatArray) -> list[int]:
    """Keep the settings that are not shown to lie above the one with the least median."""
    best = among[int(np.median(value[:, among], axis=0).argmin())]
    below = (value[:, [best]] < value[:, among]).mean(axis=0)
    return [one for one, chance in zip(among, below, strict=True) if chance < 1 - SHOWN]


def _best_quality(among: Sequence[int], model: Model, job: Job) -> list[int]:
    """Keep the settings to which the best estimate is not shown better; all where a quality is unknown."""
    aim = job.aim
    qualities = {
        one: quality for one in among if (quality := assumed_quality(model.judged[one], job)) is not None
    }
    if aim is None or len(qualities) < len(among):
        return list(among)
    sign = 1.0 if aim.higher_is_better else -1.0
    best = max(qualities.values(), key=lambda quality: sign * quality.estimate)
    return [
        one
        for one, quality in qualities.items()
        if not shown_better(best, quality, higher_is_better=aim.higher_is_better)
    ]
