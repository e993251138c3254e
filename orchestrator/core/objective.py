"""User's objective for the recommended setting: goal and limits."""

import math
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError

Goal = Literal["fastest", "cheapest", "best", "balanced"]


MOST_SAMPLES = 10**15
"""Limit of one job: at a million samples a second it takes thirty years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Goal and constraints of the recommendation.

    Attributes:
        goal: `best` has the best quality on held-out data; `balanced` weighs time, cost and quality.
        deadline_hours: the longest that the training may take; None is any time.
        budget_usd: the most that it may cost; None is any price.
        quality: minimum quality of the workload; None: any.
        weight_time, weight_cost, weight_quality: relative weights of the goal `balanced`.
        samples: samples of the whole job over all epochs; None: as its workload declares.
        epochs: epochs of the job, instead of `samples`.
        tokens: tokens of a language model's job, instead of `samples`.
    """

    goal: Goal = "fastest"
    deadline_hours: float | None = None
    budget_usd: float | None = None
    quality: float | None = None
    weight_time: float = 1.0
    weight_cost: float = 1.0
    weight_quality: float = 1.0
    samples: int | None = None
    epochs: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("deadline_hours", "budget_usd", "epochs"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"report.{name}={value} must be above 0 and finite")
        for name in ("samples", "tokens"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_SAMPLES:
                raise ConfigError(f"report.{name}={value} must be a whole number from 1 to {MOST_SAMPLES:,}")
        lengths = {"samples": self.samples, "epochs": self.epochs, "tokens": self.tokens}
        given = [f"report.{name}={value}" for name, value in lengths.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given[:2])} are two lengths of one job; give one")
        if self.quality is not None and not math.isfinite(self.quality):
            raise ConfigError(f"report.quality={self.quality} must be finite")
        weights = ("weight_time", "weight_cost", "weight_quality")
        for name in weights:
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"report.{name}={getattr(self, name)} must not be negative, and finite")
        if not any(getattr(self, name) for name in weights):
            raise ConfigError(f"{', '.join(f'report.{name}' for name in weights)} are all 0; one must not be")


FASTEST = Objective()
"""Default objective."""
