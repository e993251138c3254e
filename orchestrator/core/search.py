"""How a sweep chooses its trials, and how sure its answer must be."""

from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError

SearchName = Literal["grid", "adaptive"]
"""`grid` runs every trial of the plan; `adaptive` runs one after the other until the answer is clear."""

MOST_REPEATS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Rule that chooses the trials of a sweep.

    Attributes:
        confidence: chance of the winner to be good above which an answer is settled.
        tolerance: how far above the best a good setting may lie, as a share.
        repeats: most trials of one point that an adaptive search may run.
    """

    name: SearchName = "grid"
    confidence: float = 0.95
    tolerance: float = 0.05
    repeats: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ConfigError(f"search.confidence={self.confidence} must lie between 0 and 1, as 0.95")
        if not 0 < self.tolerance <= 1:
            raise ConfigError(f"search.tolerance={self.tolerance} must be above 0 and at most 1, as 0.05")
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise ConfigError(
                f"search.repeats={self.repeats} must be a whole number from 1 to {MOST_REPEATS}"
            )

    @property
    def is_adaptive(self) -> bool:
        """True where trials are chosen by what the others showed."""
        return self.name == "adaptive"


GRID = Search()
"""Default search."""
