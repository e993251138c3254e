"""Contract of a prediction method: training pairs in, a predictor for each pair out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from orchestrator.extensions.profile_transfer.models.pairs import (
    Floats,
    Pair,
    Profiles,
    Rows,
    middle_of_repeats,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedSteps:
    """Latencies on the target.

    Attributes:
        step_seconds: [row].
        low, high: [row] ends of the interval that is to hold 90 of 100 latencies; None: the method has none.
        in_range: [row] False if the method declares the row outside its range; None: it never does.
    """

    step_seconds: Floats
    low: Floats | None = None
    high: Floats | None = None
    in_range: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None


def joined_steps(parts: Sequence[tuple[Rows, PredictedSteps]]) -> PredictedSteps:
    """Put predictions of some rows each into the order of the rows."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))

    def column(name: str) -> Any:
        values = [getattr(predicted, name) for _, predicted in parts]
        return None if values[0] is None else np.concatenate(values)[order]

    return PredictedSteps(
        step_seconds=column("step_seconds"),
        low=column("low"),
        high=column("high"),
        in_range=column("in_range"),
    )


class Predictor(Protocol):
    """Fitted to one pair."""

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict under the method's name, and under the names of its members, where it has any."""
        ...


Fit = Callable[[Sequence[Pair]], Sequence[Predictor]]
"""Fits one predictor to each of several parts of one pair, side by side, for that can be cheaper."""


RATIO = "ratio"
LOG_QUADRATIC = "log_quadratic"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratio:
    """Target over anchor, the same for every workload."""

    factor: float

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict under its only name."""
        return {RATIO: PredictedSteps(step_seconds=self.factor * profiles.step_seconds)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogQuadratic:
    """log target = a + b log anchor + c (log anchor)^2, highest power first in `coefficients`."""

    coefficients: Floats

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict under its only name."""
        logs = np.polyval(self.coefficients, np.log(profiles.step_seconds))
        return {LOG_QUADRATIC: PredictedSteps(step_seconds=np.exp(logs))}


def fit_ratio(trainings: Sequence[Pair]) -> Sequence[Ratio]:
    """The median ratio of the training workloads."""
    middles = map(middle_of_repeats, trainings)
    return [
        Ratio(factor=float(np.median(middle.target_seconds / middle.profiles.step_seconds)))
        for middle in middles
    ]


def fit_log_quadratic(trainings: Sequence[Pair]) -> Sequence[LogQuadratic]:
    """Least squares of the logarithms."""
    return [_log_quadratic(middle_of_repeats(training)) for training in trainings]


def _log_quadratic(training: Pair) -> LogQuadratic:
    here, there = np.log(training.profiles.step_seconds), np.log(training.target_seconds)
    return LogQuadratic(coefficients=np.polyfit(here, there, 2))
