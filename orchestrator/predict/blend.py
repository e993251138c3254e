"""Our own predictor: the mean of its members, an interval of each row, and a range in which it is of use.

The interval is a factor of exp(q s) to both sides. s, of each row, is the spread of the members plus the
standard deviation of the process: large where members disagree or training is far away. q is the least that
holds 90% of what members say of models that they did not see, each training model held out once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from orchestrator.predict.conformal import log_errors, quantile_of
from orchestrator.predict.members import MEMBERS, Members, fit_members
from orchestrator.predict.method import PredictedSteps
from orchestrator.predict.pairs import Floats, Pair, Profiles, joined, middle_of_repeats

ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blend:
    """Fitted to one pair.

    Attributes:
        quantile: q.
        farthest: largest standard deviation of the process at a training model that was held out: beyond it
            nothing is known of the errors.
    """

    members: Members
    quantile: float
    farthest: float

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """By `orchestrator`, with intervals, and by its three members alone."""
        log_ratios, deviation = self.members.log_ratios(profiles)
        center = profiles.step_seconds * np.exp(log_ratios.mean(axis=1))
        factor = np.exp(self.quantile * _scale(log_ratios, deviation))
        blended = PredictedSteps(
            step_seconds=center,
            low=center / factor,
            high=center * factor,
            in_range=deviation <= self.farthest,
        )
        alone = {
            f"{ORCHESTRATOR}_{name}": PredictedSteps(step_seconds=profiles.step_seconds * np.exp(column))
            for name, column in zip(MEMBERS, log_ratios.T, strict=True)
        }
        return {ORCHESTRATOR: blended, **alone}


def fit_blend(trainings: Sequence[Pair]) -> Sequence[Blend]:
    """One for each of several parts of one pair that lack whole models; they share fits."""
    parts: dict[str, Pair] = {}
    for training in trainings:
        for model in set(training.models.tolist()) - set(parts):
            parts[model] = middle_of_repeats(training[training.models == model])

    @cache
    def fitted(models: frozenset[str]) -> Members:
        return fit_members(joined([parts[each] for each in sorted(models)]))

    return [_blend(frozenset(each.models.tolist()), parts, fitted) for each in trainings]


def _blend(
    models: frozenset[str], parts: Mapping[str, Pair], fitted: Callable[[frozenset[str]], Members]
) -> Blend:
    """Of a single model, which cannot be held out, nothing is known: its range is empty."""
    if len(models) < 2:
        return Blend(members=fitted(models), quantile=np.inf, farthest=-np.inf)
    tests = [(parts[each], fitted(models - {each})) for each in sorted(models)]
    sizes, deviations = zip(*(_sizes(test, members) for test, members in tests), strict=True)
    return Blend(
        members=fitted(models),
        quantile=quantile_of(np.concatenate(sizes)),
        farthest=float(np.concatenate(deviations).max()),
    )


def _sizes(test: Pair, members: Members) -> tuple[Floats, Floats]:
    """[row] of a held-out model: error over s, and the process' standard deviation."""
    log_ratios, deviation = members.log_ratios(test.profiles)
    center = test.profiles.step_seconds * np.exp(log_ratios.mean(axis=1))
    return np.abs(log_errors(center, test.target_seconds)) / _scale(log_ratios, deviation), deviation


def _scale(log_ratios: Floats, deviation: Floats) -> Floats:
    """[row] s."""
    found: Floats = log_ratios.std(axis=1) + deviation
    return found
