"""What is thought of a trial that was not measured: an estimate with its interval, or why there is none."""

import math
from dataclasses import dataclass

from orchestrator.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Seconds of one optimizer step in the steady state.

    Attributes:
        low, high: the interval that is to hold 90 of 100 measurements.
        source: what it stands on.
    """

    low: float
    likely: float
    high: float
    source: str

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.likely <= self.high < math.inf:
            raise ConfigError(f"no estimate: {self.low} <= {self.likely} <= {self.high} seconds")

    def holds(self, seconds: float) -> bool:
        """Whether a measurement lies in the interval."""
        return self.low <= seconds <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why nothing is estimated, and what to measure to change that."""

    reason: str
    to_measure: str
