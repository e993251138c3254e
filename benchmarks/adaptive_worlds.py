"""(published case, name of a world) -> the case with other true steps, or with other noise. Pure.

The predictions stay as they are: what changes is what a trial shows.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from advise import Case

from orchestrator.analysis.recommendation.model.posterior import FloatArray

_FACTOR = 3.0
_APART = 1.06
_NOISE = 0.1


def case_in(world: str, case: Case, *, seed: int) -> Case:
    """Move a case to another world of WORLDS."""
    return WORLDS[world](case, np.random.default_rng(seed))


def _published(case: Case, _random: np.random.Generator) -> Case:
    return case


def _drawn(case: Case, random: np.random.Generator) -> Case:
    """Draw the steps from what is predicted: a stated chance is then exact but for the assumed noise."""
    return _with_steps(case, case.posterior.draws(1, seed=int(random.integers(2**31)))[0])


def _wrong(case: Case, random: np.random.Generator) -> Case:
    """Make the published steps of one device three times as long or as short."""
    hardware = np.array([prior.hardware for prior in case.priors])
    factor = _FACTOR if random.random() < 0.5 else 1 / _FACTOR
    return _with_steps(case, case.truth + math.log(factor) * (hardware == random.choice(hardware)))


def _near(case: Case, _random: np.random.Generator) -> Case:
    """Move the second best setting to 6% above the best: just outside the tolerance."""
    value = case.objective.value(case.truth)
    best, second = np.argsort(value)[:2]
    if not math.isfinite(value[second]):
        return case
    steps = case.truth.copy()
    weight = case.objective.time + case.objective.cost
    steps[second] += (value[best] + math.log(_APART) - value[second]) / weight
    return _with_steps(case, steps)


def _noisy(case: Case, _random: np.random.Generator) -> Case:
    """Let runs vary by 10%, twice as much as is assumed before repeats show it."""
    return replace(case, noise=_NOISE)


def _with_steps(case: Case, steps: FloatArray) -> Case:
    """Replace the true steps; a limit of time stays as many times the fastest setting."""
    objective = case.objective
    if math.isfinite(objective.log_most_seconds):
        per_sample = objective.log_seconds
        moved = per_sample(steps).min() - per_sample(case.truth).min()
        objective = replace(objective, log_most_seconds=objective.log_most_seconds + float(moved))
    return replace(case, truth=steps, objective=objective)


WORLDS: dict[str, Callable[[Case, np.random.Generator], Case]] = {
    "published": _published,
    "drawn": _drawn,
    "wrong": _wrong,
    "near": _near,
    "noisy": _noisy,
}
