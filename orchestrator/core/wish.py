"""What a user wants of the settings that were measured."""

import math
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError

Goal = Literal["fastest", "cheapest", "best", "balanced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which setting is to be recommended.

    Attributes:
        goal: `best` has the best quality on held-out data; `balanced` the least weighted sum of shortfalls.
        deadline_hours: the longest that the training may take; None is any time.
        budget_usd: the most that it may cost; None is any price.
        quality: what the workload's quality has to reach; None is any.
        weight_time, weight_cost, weight_quality: of `balanced`, in any unit.
    """

    goal: Goal = "fastest"
    deadline_hours: float | None = None
    budget_usd: float | None = None
    quality: float | None = None
    weight_time: float = 1.0
    weight_cost: float = 1.0
    weight_quality: float = 1.0

    def __post_init__(self) -> None:
        for name in ("deadline_hours", "budget_usd"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"report.{name}={value} must be above 0 and finite")
        if self.quality is not None and not math.isfinite(self.quality):
            raise ConfigError(f"report.quality={self.quality} must be finite")
        weights = ("weight_time", "weight_cost", "weight_quality")
        for name in weights:
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"report.{name}={getattr(self, name)} must not be negative, and finite")
        if not any(getattr(self, name) for name in weights):
            raise ConfigError(f"{', '.join(f'report.{each}' for each in weights)} are all 0; one must not be")


FASTEST = Wish()
"""What is wished where nobody says anything."""
