"""(job, its judgement) -> likely cost of a further trial of each setting, without boot. Pure."""

import math
from collections import defaultdict
from statistics import median

import numpy as np

from orchestrator.analysis.recommendation.answer.judgement import Judgement
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.factors import find_factors

_LEAST = 1e-9


class TrialCosts:
    """Expected cost of one further trial of every setting of a job.

    A setting that was measured takes as long as its runs. Another one takes its steps, and what trials of its
    trainer take beside their steps, 0 where none was measured. Before anything is known, all take equally
    long.

    Args:
        in_usd: costs are dollars, as every price is known; otherwise seconds.
    """

    def __init__(self, job: Job, view: Judgement, *, in_usd: bool) -> None:
        self._in_usd = in_usd
        self._besides = _besides_by_trainer(job)
        self._step = _find_steps(view)
        runs = [run.trial_seconds for one in job.candidates for run in one.quiet]
        self._any = median(runs) if runs else 1.0

    def of(self, one: CandidateSetting) -> float:
        """Return dollars, or seconds."""
        usd = self.compute_usd(one) if self._in_usd else None
        return max(_LEAST, self.estimate_seconds(one) if usd is None else usd)

    def estimate_seconds(self, one: CandidateSetting) -> float:
        """Return the length of a trial."""
        if one.quiet:
            return median(run.trial_seconds for run in one.quiet)
        step = self._step.get(one.label)
        if step is None:
            return self._any
        return one.steps * step + self._besides.get(_find_trainer(one), self._besides.get("", 0.0))

    def compute_usd(self, one: CandidateSetting) -> float | None:
        """Return the bill of a trial; None: no price is known."""
        usd = one.billed_usd(self.estimate_seconds(one))
        return None if math.isnan(usd) else usd


def _find_steps(view: Judgement) -> dict[str, float]:
    """Label -> expected seconds of a step, of settings that are judged and were not measured."""
    if view.model is None:
        return {}
    means = np.exp(view.model.steps.mean)
    return {one.label: float(mean) for one, mean in zip(view.candidates, means, strict=True) if not one.quiet}


def _besides_by_trainer(job: Job) -> dict[str, float]:
    """Trainer -> median seconds that its trials took beside their steps; of all trainers under ``."""
    besides: dict[str, list[float]] = defaultdict(list)
    for one in job.candidates:
        for run in one.quiet:
            if not run.is_resumed:
                for name in (_find_trainer(one), ""):
                    besides[name].append(_besides(one, run))
    return {name: median(seconds) for name, seconds in besides.items()}


def _besides(one: CandidateSetting, run: Run) -> float:
    return max(0.0, run.trial_seconds - run.samples / one.batch_size * run.step_seconds)


def _find_trainer(one: CandidateSetting) -> str:
    return find_factors(one).get("trainer", "")
