"""(job, what is known before the first trial) -> how many trials a search likely needs, and their cost. Pure.

The search is run on results that are drawn from what is known: each draw is one world, in which predictions
are wrong as they usually are. Its decisions are those of the search itself.
"""

from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from orchestrator.analysis.formatting import counted, format_cost
from orchestrator.analysis.recommendation.answer.judgement import judge
from orchestrator.analysis.recommendation.model.candidate import Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.factors import num_levels
from orchestrator.core.estimate import ErrorModel
from orchestrator.extensions.adaptive_search.costs import TrialCosts
from orchestrator.extensions.adaptive_search.decision import Choice, next_trial
from orchestrator.extensions.adaptive_search.expected_runs import expected_run

_WORLDS = 3
_MOST_TRIALS = 60
_MOST_SETTINGS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Expected trials and cost of a search.

    Attributes:
        num_settings: settings that can be measured.
        num_untried: those that have no trial yet.
        num_trials: further trials until the answer is clear, the median of drawn worlds.
        is_least: it likely needs more than that many.
        seconds, usd: time and bill of these trials; None: not known.
        grid_seconds, grid_usd: the same of one trial of every setting that has none.
        why_unknown: why there is no estimate; empty: there is one.
    """

    job: str
    num_settings: int
    num_trials: int
    num_untried: int = 0
    is_least: bool = False
    seconds: float | None = None
    usd: float | None = None
    grid_seconds: float | None = None
    grid_usd: float | None = None
    why_unknown: str = ""


def outlook_sentence(outlook: Outlook) -> str:
    """Describe how many trials a search likely needs, against one trial of every setting."""
    trials = counted(outlook.num_trials, "further trial")
    most = "at least " if outlook.is_least else "about "
    cost = format_cost(outlook.seconds, outlook.usd)
    expected = ", ".join(filter(None, (f"{outlook.job}: {most}{trials}", cost)))
    grid = format_cost(outlook.grid_seconds, outlook.grid_usd)
    untried = counted(outlook.num_untried, "setting")
    against = f"; one trial of each of the {untried} that have none, {grid}" if grid else ""
    whole = against or f" for {counted(outlook.num_settings, 'setting')}"
    return f"{expected}{whole}{f' ({outlook.why_unknown})' if outlook.why_unknown else ''}."


def build_outlook(job: Job, criteria: Criteria, errors: ErrorModel, *, in_usd: bool) -> Outlook:
    """Expect the number of trials and their cost; `in_usd` as in the search's decisions."""
    count = len(job.candidates)
    view = judge(job, criteria, errors)
    if view.model is None or any(one.prior is None and not one.runs for one in job.candidates):
        least = max(0, min(count, num_levels(job.candidates)) - sum(bool(one.runs) for one in job.candidates))
        why = "nothing predicts these settings, so the first trials show what is worth measuring"
        return Outlook(job=job.where, num_settings=count, num_trials=least, is_least=True, why_unknown=why)
    if count > _MOST_SETTINGS:
        why = f"it is not estimated for more than {_MOST_SETTINGS} settings"
        return Outlook(job=job.where, num_settings=count, num_trials=1, is_least=True, why_unknown=why)
    worlds = [_trials_in(job, criteria, errors, seed=seed, in_usd=in_usd) for seed in range(_WORLDS)]
    costs = TrialCosts(job, view, in_usd=True)
    untried = [one for one in job.candidates if not one.runs and one.trial_ids]
    usd = [costs.compute_usd(one) for one in untried]
    spent = [spending for _, _, spending in worlds if spending is not None]
    return Outlook(
        job=job.where,
        num_settings=count,
        num_untried=len(untried),
        num_trials=round(median(trials for trials, _, _ in worlds)),
        is_least=any(trials >= _MOST_TRIALS for trials, _, _ in worlds),
        seconds=median(seconds for _, seconds, _ in worlds),
        usd=median(spent) if len(spent) == len(worlds) else None,
        grid_seconds=sum(map(costs.estimate_seconds, untried)),
        grid_usd=None if None in usd else sum(one for one in usd if one is not None),
    )


def _trials_in(
    job: Job, criteria: Criteria, errors: ErrorModel, *, seed: int, in_usd: bool
) -> tuple[int, float, float | None]:
    """Run the search in one drawn world: its trials, their seconds and their dollars."""
    view = judge(job, criteria, errors)
    assert view.model is not None
    drawn = np.exp(view.model.steps.draws(1, seed=seed)[0])
    steps = {one.label: float(step) for one, step in zip(view.candidates, drawn, strict=True)}
    noise = np.random.default_rng(seed).normal(0.0, view.errors.one_run, _MOST_TRIALS)
    seconds, usd = 0.0, 0.0
    for number in range(_MOST_TRIALS):
        decided = next_trial(job, criteria, errors, running={}, format_obstacle=lambda _: "", in_usd=in_usd)
        if not isinstance(decided, Choice):
            return number, seconds, None if np.isnan(usd) else usd
        index = next(i for i, one in enumerate(job.candidates) if one.label == decided.setting)
        one = job.candidates[index]
        step = one.quiet[0].step_seconds if one.quiet else steps.get(one.label, 1.0)
        run = expected_run(one, job, step * float(np.exp(noise[number])))
        measured = replace(one, runs=(*one.runs, run), trial_ids=one.trial_ids[1:])
        job = replace(job, candidates=(*job.candidates[:index], measured, *job.candidates[index + 1 :]))
        seconds += run.trial_seconds
        usd += one.billed_usd(run.trial_seconds)
    return _MOST_TRIALS, seconds, None if np.isnan(usd) else usd
