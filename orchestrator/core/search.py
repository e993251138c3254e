"""Rule that chooses the trials of a sweep, and the progress of a search."""

from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError

SearchName = Literal["grid", "adaptive"]

MOST_REPEATS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Rule that chooses the trials of a sweep.

    Attributes:
        name: `grid` runs every trial of the plan, `adaptive` one after the other until the answer is clear.
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

    def num_repeats(self, declared: int) -> int:
        """Return the most trials of one point, given the repeats that the sweep declares."""
        return max(declared, self.repeats) if self.is_adaptive else declared


GRID = Search()
"""Default search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """State of the search for the best setting of one job.

    Attributes:
        job: workload and data in words.
        num_settings, num_measured: settings that can be measured here, and those that were.
        num_trials: measured trials, repeats included.
        leader: the setting that leads; empty: none is known.
        chance: probability that the leader is good; 0 without one.
        is_measured: the leader was measured; otherwise it is only predicted.
        next_setting: setting of the next trial; empty: none starts now.
        why: reason for the next trial, or why none starts.
        stop: why no trial starts, as `search/decision.py` names it; empty: one does.
        usd, seconds: bill of the measured and pruned trials, and their time; None: no price is known.
        grid_usd, grid_seconds: the same of one trial of every setting, as expected; None: not known yet.
        num_pruned: trials that were ended early.
    """

    job: str
    num_settings: int
    num_measured: int
    num_trials: int
    leader: str
    chance: float
    is_measured: bool
    next_setting: str
    why: str
    stop: str
    seconds: float
    usd: float | None = None
    grid_seconds: float | None = None
    grid_usd: float | None = None
    num_pruned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProgress:
    """State of an adaptive search after its last decision.

    Attributes:
        search: the rule that it follows.
        is_rehearsal: no trial measures anything; each counts as if it had ended as predicted.
    """

    jobs: tuple[JobProgress, ...]
    search: Search
    is_rehearsal: bool = False
