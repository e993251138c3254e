"""(job, trials that run) -> the job as if each of them had ended as expected. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import numpy as np

from orchestrator.analysis.recommendation.answer.judgement import Judgement
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.model import samples_to_target


def with_expected_runs(job: Job, view: Judgement, counts: Mapping[str, int]) -> Job:
    """Add the expected runs of trials to their settings; a setting that is not judged gets none.

    Args:
        counts: label of a setting -> number of its trials.
    """
    steps = _expected_steps(view)
    candidates = tuple(
        replace(one, runs=(*one.runs, *[expected_run(one, job, steps[one.label])] * counts[one.label]))
        if counts.get(one.label) and one.label in steps
        else one
        for one in job.candidates
    )
    return replace(job, candidates=candidates)


def expected_run(one: CandidateSetting, job: Job, step_seconds: float) -> Run:
    """Make the run of a trial with steps of that length; the rest is that of the other runs."""
    runs = [run for other in job.candidates for run in other.quiet]
    own = list(one.quiet) or runs
    fixed = median(run.fixed_seconds for run in own) if own else 0.0
    samples = one.steps * one.batch_size
    besides = [
        max(0.0, run.trial_seconds - run.samples / other.batch_size * run.step_seconds)
        for other in job.candidates
        for run in other.quiet
    ]
    to_target = samples_to_target(job).get(one.batch_size) if job.target is not None else None
    return Run(
        fixed_seconds=fixed,
        launch_seconds=fixed,
        step_seconds=step_seconds,
        samples=samples,
        seconds_to_target=None if to_target is None else fixed + to_target / one.batch_size * step_seconds,
        samples_to_target=None if to_target is None else round(to_target),
        quality=None,
        held_out_samples=None,
        seed=0,
        trial_seconds=one.steps * step_seconds + (median(besides) if besides else fixed),
        is_noisy=False,
    )


def _expected_steps(view: Judgement) -> dict[str, float]:
    """Label -> expected seconds of a step, of every setting that is judged."""
    if view.model is None:
        return {}
    means = np.exp(view.model.steps.mean)
    return {
        one.label: one.step_seconds or float(mean) for one, mean in zip(view.candidates, means, strict=True)
    }
