"""What every method of prediction is: training pairs in, a predictor for each of them out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from orchestrator.predict.pairs import Floats, Pair, Profiles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedSteps:
    """Latencies on the target.

    Attributes:
        step_seconds: [row].
        low, high: [row] ends of the interval that is to hold 90 of 100 latencies; None: the method has none.
        in_range: [row] False where the method says that it does not know; None: it never does.
    """

    step_seconds: Floats
    low: Floats | None = None
    high: Floats | None = None
    in_range: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None


class Predictor(Protocol):
    """Fitted to one pair."""

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """By the method's name, and by the names of its members where it has any."""
        ...


Fit = Callable[[Sequence[Pair]], Sequence[Predictor]]
"""Fits one predictor to each of several parts of one pair, side by side, for that can be cheaper."""
