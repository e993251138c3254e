"""(job, what a running trial has shown) -> whether it may still win. Pure.

A trial is judged as if it ended now with its fastest block, or as if it reached its target now: nothing that
it can still show makes it better than that. Where its chance to be good is then below 1%, it is ended.
Trainings to a target are also compared on their learning curves, by the rule that is handed in.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.criteria import Criteria, build_question
from orchestrator.core.estimate import ErrorModel
from orchestrator.core.trial_progress import Pruning, TrialProgress

_HOPELESS = 0.01
_LOOKS = (2, 4, 8, 16)
"""Numbers of timed blocks after which a trial is judged: a judgement takes longer than a short block."""

Point = tuple[float, float]
"""What a training had used by an evaluation, and the quality that it had then; more is better."""

StopsOnCurve = Callable[[Sequence[Sequence[Point]], Sequence[Point], float], bool]
"""(curves of other trainings, curve so far, most that the best one used) -> the training is to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A running trial as if it ended now, and in words."""

    run: Run
    words: str


def find_pruning(
    job: Job,
    label: str,
    shown: TrialProgress,
    *,
    criteria: Criteria,
    errors: ErrorModel,
    known: Judgement,
    stops_on_curve: StopsOnCurve,
) -> Pruning | None:
    """Decide whether a running trial is ended early.

    Only a first trial of a setting is: a repeat belongs to a contender. Nothing is ended before another
    setting leads, nor where quality alone decides.

    Args:
        label: setting of the trial.
        known: judgement of the job without this trial.
        stops_on_curve: rule for learning curves of trainings to a target.
    """
    one = next(candidate for candidate in job.candidates if candidate.label == label)
    chosen = known.decision.chosen
    if chosen is None or one.quiet or criteria.weights[2] == 1:
        return None
    leader = known.candidates[chosen]
    best_case = _best_case(job, one, shown)
    why = ""
    if best_case is not None:
        good = _compute_chance(job, one, best_case.run, criteria, errors)
        if good is not None and good < _HOPELESS:
            why = f"{best_case.words}; its chance to be good is {chance(good)} beside {leader.label}"
    if not why and job.target is not None and _trails(job, one, leader, shown, criteria, stops_on_curve):
        quality = shown.curve[-1].quality
        why = (
            f"{job.target.metric} {quality:.3g} after {shown.training_seconds:.1f} s is behind the better "
            f"half of the trainings so far"
        )
    return (
        Pruning(question=build_question(criteria, job.aim, one.price), why=why, shown=shown) if why else None
    )


def _best_case(job: Job, one: CandidateSetting, shown: TrialProgress) -> _Shown | None:
    """Return the best that the trial may still come to; None: it is not judged now."""
    if job.target is not None:
        if not shown.curve or job.target.is_reached_by(shown.curve[-1].quality):
            return None
        step = shown.training_seconds / shown.steps
        words = f"it trained for {shown.training_seconds:.1f} s without reaching the target"
        return _Shown(run=_run(one, shown, step_seconds=step, to_target=shown.training_seconds), words=words)
    if len(shown.step_seconds) not in _LOOKS:
        return None
    step = min(shown.step_seconds)
    words = f"the fastest of {len(shown.step_seconds)} blocks took {1e3 * step:.3g} ms a step"
    return _Shown(run=_run(one, shown, step_seconds=step, to_target=None), words=words)


def _run(one: CandidateSetting, shown: TrialProgress, *, step_seconds: float, to_target: float | None) -> Run:
    samples = shown.steps * one.batch_size
    return Run(
        fixed_seconds=0.0,
        step_seconds=step_seconds,
        samples=samples,
        seconds_to_target=to_target,
        samples_to_target=None if to_target is None else samples,
        quality=None,
        held_out_samples=None,
        seed=0,
        trial_seconds=shown.training_seconds,
        is_noisy=False,
    )


def _compute_chance(
    job: Job, one: CandidateSetting, run: Run, criteria: Criteria, errors: ErrorModel
) -> float | None:
    """Compute the chance of the setting to be good with this run; None: it is not judged then."""
    measured = replace(one, runs=(*one.runs, run))
    candidates = tuple(measured if other.label == one.label else other for other in job.candidates)
    view = judge(replace(job, candidates=candidates), criteria, errors)
    if view.assessment is None:
        return None
    places = [index for index, other in enumerate(view.candidates) if other.label == one.label]
    return float(view.assessment.chances[places[0]]) if places else None


def _trails(
    job: Job,
    one: CandidateSetting,
    leader: CandidateSetting,
    shown: TrialProgress,
    criteria: Criteria,
    stops_on_curve: StopsOnCurve,
) -> bool:
    """Return whether the learning curve of the trial falls behind those of the other settings."""
    assert job.target is not None
    sign = 1.0 if job.target.higher_is_better else -1.0

    def points(setting: CandidateSetting, curve: Sequence[tuple[float, float]]) -> list[Point]:
        return [(_used(setting, seconds, criteria), sign * quality) for seconds, quality in curve if seconds]

    own = [(each.training_seconds, each.quality) for each in shown.curve]
    curves = [
        (other, run.curve) for other in job.candidates if other.label != one.label for run in other.quiet
    ]
    curves += [
        (other, glimpse.curve)
        for other in job.candidates
        if other.label != one.label
        for glimpse in other.pruned
    ]
    ended = [points(leader, run.curve) for run in leader.quiet if run.curve]
    if not ended:
        return False
    most = max(curve[-1][0] for curve in ended if curve)
    return stops_on_curve([points(*curve) for curve in curves], points(one, own), most)


def _used(one: CandidateSetting, seconds: float, criteria: Criteria) -> float:
    """Weigh seconds and dollars as the goal does."""
    time, cost, _ = criteria.weights
    usd = one.compared_usd_per_second
    if math.isnan(usd) or not cost:
        return seconds
    return float(seconds * usd ** (cost / (time + cost)))
