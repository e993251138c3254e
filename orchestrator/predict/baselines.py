"""What an op profile has to beat: predictions from the anchor's latency alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.predict.method import PredictedSteps
from orchestrator.predict.pairs import Floats, Pair, Profiles, middle_of_repeats

RATIO = "ratio"
LOG_QUADRATIC = "log_quadratic"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratio:
    """Target over anchor, the same for every workload."""

    factor: float

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """By its one name."""
        return {RATIO: PredictedSteps(step_seconds=self.factor * profiles.step_seconds)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogQuadratic:
    """log target = a + b log anchor + c (log anchor)^2, highest power first in `coefficients`."""

    coefficients: Floats

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """By its one name."""
        logs = np.polyval(self.coefficients, np.log(profiles.step_seconds))
        return {LOG_QUADRATIC: PredictedSteps(step_seconds=np.exp(logs))}


def fit_ratio(trainings: Sequence[Pair]) -> Sequence[Ratio]:
    """The median ratio of the training workloads."""
    middles = map(middle_of_repeats, trainings)
    return [
        Ratio(factor=float(np.median(each.target_seconds / each.profiles.step_seconds))) for each in middles
    ]


def fit_log_quadratic(trainings: Sequence[Pair]) -> Sequence[LogQuadratic]:
    """Least squares of the logarithms."""
    return [_log_quadratic(middle_of_repeats(each)) for each in trainings]


def _log_quadratic(training: Pair) -> LogQuadratic:
    here, there = np.log(training.profiles.step_seconds), np.log(training.target_seconds)
    return LogQuadratic(coefficients=np.polyfit(here, there, 2))
