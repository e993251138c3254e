"""(job, what is known and what runs) -> the next trial with its reason, or why no further one starts. Pure.

The next trial is expected to raise the chance of a good choice most for its cost: the knowledge gradient of
`analysis/recommendation/model/acquisition.py`, over first looks and repeats alike. Trials that run count as
measured with the result that is expected of them (Ginsbourger, Le Riche, Carraro 2010: the kriging believer).
Where nothing predicts the settings, a space-filling first design comes before.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.analysis.recommendation.model.acquisition import best_next, find_probes
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.factors import compute_features
from orchestrator.analysis.recommendation.model.posterior import FloatArray
from orchestrator.core.estimate import ErrorModel
from orchestrator.extensions.adaptive_search.costs import TrialCosts
from orchestrator.extensions.adaptive_search.expected_runs import with_expected_runs


def next_of_design(
    job: Job, unseen: Sequence[CandidateSetting], running: Collection[str]
) -> CandidateSetting:
    """Choose the next setting of a space-filling design; of equally far ones the first.

    The first setting is nearest to the middle of the factors, and every further one lies farthest from
    those that were measured or run: the maximin design of Johnson, Moore and Ylvisaker 1990.

    Args:
        unseen: settings that may be chosen, at least one.
        running: labels of settings with running trials.
    """
    features = compute_features(job.candidates)
    rows = {one.label: row for row, one in enumerate(job.candidates)}
    choices = features[[rows[one.label] for one in unseen]]
    seen = [row for row, one in enumerate(job.candidates) if one.is_seen or one.label in running]
    if not seen:
        middle = np.square(choices - features.mean(axis=0)).sum(axis=1)
        return unseen[int(middle.argmin())]
    between = np.square(choices[:, np.newaxis] - features[seen][np.newaxis]).sum(axis=2)
    return unseen[int(np.round(between.min(axis=1), 9).argmax())]


StopReason = Literal["clear", "none", "exhausted", "budget", "waiting"]
"""`clear`: the winner is good with the requested confidence · `none`: no setting keeps to the limits ·
`exhausted`: no trial that may start could change the answer · `budget`: every such one likely passes a cap ·
`waiting`: there is room for none beside what runs."""

_SEVERAL = 4
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The setting that leads a job.

    Attributes:
        chance: probability that it keeps to the limits and lies within the tolerance of the best.
    """

    setting: str
    chance: float
    is_measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The next trial.

    Attributes:
        gain: expected rise of the leader's chance; infinite of a first look without which nothing is judged.
        cost: expected dollars, or seconds where a price is unknown.
    """

    setting: str
    why: str
    gain: float
    cost: float
    seconds: float
    usd: float | None
    leader: Leader | None

    @property
    def worth(self) -> float:
        """Gain for its cost."""
        return self.gain / self.cost if self.cost else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """No further trial starts now."""

    reason: StopReason
    why: str
    leader: Leader | None


Obstacle = Callable[[str], str]
"""(label of a setting) -> what keeps its next trial from starting now: `room`, or a cap; empty: nothing."""


def next_trial(
    job: Job,
    criteria: Criteria,
    errors: ErrorModel,
    *,
    running: Mapping[str, int],
    format_obstacle: Obstacle,
    in_usd: bool,
    known: Judgement | None = None,
) -> Choice | Stop:
    """Choose the next trial of a job.

    Args:
        running: label of a setting -> its trials that run.
        in_usd: costs are dollars, as every price is known; otherwise seconds.
        known: judgement of the job; None: it is made here.
    """
    known = known or judge(job, criteria, errors)
    leader = find_leader(known)
    expected = with_expected_runs(job, known, running) if any(running.values()) else job
    view = judge(expected, criteria, errors) if expected is not job else known
    left = _measurable(expected, view)
    if stop := _find_stop(known, criteria, leader, left):
        return stop
    startable, obstacle = _startable(left, format_obstacle)
    if not startable:
        return _nothing_starts("room" if obstacle and any(running.values()) else obstacle, leader)
    costs = TrialCosts(expected, view, in_usd=in_usd)
    idle = [one for one in startable if not running.get(one.label)]
    chosen = _first_look(expected, view, idle, costs, leader, running) or _most_worth(
        view, startable, costs, criteria, leader
    )
    if isinstance(chosen, Stop) and any(running.values()):
        return Stop(reason="waiting", why="the next choice needs the results of what runs", leader=leader)
    return chosen


def find_leader(view: Judgement) -> Leader | None:
    """Return the measured setting to take, or the likeliest one where none was measured."""
    if view.assessment is None:
        return None
    index = view.decision.chosen if view.decision.chosen is not None else view.assessment.leader
    one = view.candidates[index]
    chance = float(view.assessment.chances[index])
    return Leader(setting=one.label, chance=chance, is_measured=bool(one.quiet))


def _measurable(job: Job, view: Judgement) -> list[CandidateSetting]:
    """List the settings with trials left that may give a measurement; failures of a setting exclude it."""
    hopeless = {one.setting for one in view.excluded if one.to_measure not in _MEASURES}
    return [
        one for one in job.candidates if one.trial_ids and not one.failure_kinds and one.label not in hopeless
    ]


_MEASURES = ("it", "it again on a quiet host", "more steps of one that was measured")
"""Names of a measurement that an excluded setting needs, where a trial of its own is one."""


def _find_stop(
    known: Judgement, criteria: Criteria, leader: Leader | None, left: Sequence[CandidateSetting]
) -> Stop | None:
    """Stop if the winner is good with the requested confidence for any result of the trials that are left."""
    if known.decision.state == "none":
        why = "no setting keeps to the limits" if known.candidates else "no setting can train this job"
        return Stop(reason="none", why=why, leader=leader)
    is_chosen = known.decision.chosen is not None and leader is not None
    if not is_chosen or leader is None or leader.chance < criteria.confidence:
        return None
    labels = {one.label for one in left}
    if any(one.may_be_best and one.setting in labels for one in known.excluded):
        return None
    if _needs_design(known, left):
        return None
    open_ = [one for one in known.excluded if one.may_be_best]
    if open_:
        why = f"{counted(len(open_), 'setting')} that may be better cannot be judged: {open_[0].reason}"
        return Stop(reason="exhausted", why=why, leader=leader)
    return Stop(reason="clear", why=f"{leader.setting} is good with {chance(leader.chance)}", leader=leader)


def _startable(
    left: Sequence[CandidateSetting], format_obstacle: Obstacle
) -> tuple[list[CandidateSetting], str]:
    """Return the settings with a next trial that may start now, and the obstacle of the others."""
    obstacles = [format_obstacle(one.label) for one in left]
    startable = [one for one, obstacle in zip(left, obstacles, strict=True) if not obstacle]
    return startable, next((one for one in obstacles if one == "room"), next(iter(obstacles), ""))


def _nothing_starts(obstacle: str, leader: Leader | None) -> Stop:
    if obstacle == "room":
        return Stop(reason="waiting", why="there is no room beside what runs", leader=leader)
    if obstacle:
        return Stop(reason="budget", why=f"every trial that is left likely passes {obstacle}", leader=leader)
    return Stop(reason="exhausted", why="no trial is left that could change the answer", leader=leader)


def _needs_design(view: Judgement, left: Sequence[CandidateSetting]) -> bool:
    """Return whether settings without a prediction wait for a first design."""
    return view.learned is None or (
        view.learned.is_young and any(one.prior is None and not one.is_seen for one in left)
    )


def _first_look(
    job: Job,
    view: Judgement,
    startable: Sequence[CandidateSetting],
    costs: TrialCosts,
    leader: Leader | None,
    running: Mapping[str, int],
) -> Choice | None:
    """Choose a setting of the first design, then one that cannot be judged without a trial."""
    unseen = [one for one in startable if one.prior is None and not one.is_seen]
    if unseen and _needs_design(view, startable):
        one = next_of_design(job, unseen, running)
        is_first = not running and not any(other.is_seen for other in job.candidates)
        differs = "it is in the middle of the grid" if is_first else "it differs most from what was measured"
        return _choice(one, costs, leader, why=f"first design: {differs}")
    judged = {one.label for one in view.candidates}
    reasons = {one.setting: one.reason for one in view.excluded if one.may_be_best}
    open_ = [one for one in startable if one.label not in judged and one.label in reasons and not one.quiet]
    if not open_:
        return None
    one = min(open_, key=lambda one: costs.of(one))
    return _choice(one, costs, leader, why=f"it cannot be judged without a trial: {reasons[one.label]}")


def _choice(
    one: CandidateSetting,
    costs: TrialCosts,
    leader: Leader | None,
    *,
    why: str,
    gain: float = math.inf,
) -> Choice:
    return Choice(
        setting=one.label,
        why=why,
        gain=gain,
        cost=costs.of(one),
        seconds=costs.estimate_seconds(one),
        usd=costs.compute_usd(one),
        leader=leader,
    )


def _most_worth(
    view: Judgement,
    startable: Sequence[CandidateSetting],
    costs: TrialCosts,
    criteria: Criteria,
    leader: Leader | None,
) -> Choice | Stop:
    """Choose the trial with the most expected gain for its cost, among first looks and repeats."""
    exhausted = _nothing_starts("", leader)
    if view.assessment is None:
        return exhausted
    assessment = view.assessment
    can_start = {one.label for one in startable}
    measurable = [index for index, one in enumerate(view.candidates) if one.label in can_start]
    prices = np.array(
        [
            _regretted(costs.of(one), float(chance), one) if one.label in can_start else math.inf
            for one, chance in zip(view.candidates, assessment.chances, strict=True)
        ]
    )
    probes = find_probes(assessment, measurable, repeat=view.errors.one_run)
    proposal = best_next(assessment, probes, prices, left=math.inf)
    if proposal is not None:
        one = view.candidates[proposal.setting]
        why = f"{_look(one)}: it raises the leader's chance by {proposal.gain:.1%}, as expected"
        return _choice(one, costs, leader, why=why, gain=proposal.gain)
    first = assessment.leader
    if first in measurable and not view.candidates[first].quiet:
        one = view.candidates[first]
        why = "was only measured on a busy host" if one.runs else "was only predicted"
        return _choice(one, costs, leader, why=f"{_look(one)}: the likeliest {why}", gain=0.0)
    if leader is not None and leader.chance >= criteria.confidence:
        return exhausted
    return _worth_several(view, measurable, prices, costs, leader) or exhausted


def _regretted(cost: float, chance: float, one: CandidateSetting) -> float:
    """Return the part of a trial's cost that is not paid anyway: a winner is measured at least once."""
    return cost if one.quiet else cost * max(_LEAST_SHARE, 1.0 - chance)


def _worth_several(
    view: Judgement,
    measurable: Sequence[int],
    prices: FloatArray,
    costs: TrialCosts,
    leader: Leader | None,
) -> Choice | None:
    """Choose a trial that is worth its cost together with three more like it, where none is alone."""
    assert view.assessment is not None
    probes = find_probes(view.assessment, measurable, repeat=view.errors.one_run / math.sqrt(_SEVERAL))
    proposal = best_next(view.assessment, probes, prices, left=math.inf)
    if proposal is None:
        return None
    one = view.candidates[proposal.setting]
    why = (
        f"{_look(one)}: {_SEVERAL} such trials raise the leader's chance by {proposal.gain:.1%}, as expected"
    )
    return _choice(one, costs, leader, why=why, gain=proposal.gain / _SEVERAL)


def _look(one: CandidateSetting) -> str:
    return f"repeat {len(one.runs) + 1}" if one.runs else "first look"
