"""State of an attempt at a trial, and its successors; `docs/explanation/objects.md` draws them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from orchestrator.core.errors import RecordError

TrialState = Literal["queued", "starting", "running", "finished", "failed", "pruned", "withdrawn"]
STAGES: tuple[TrialState, ...] = get_args(TrialState)

FOLLOWING: Mapping[TrialState | None, tuple[TrialState, ...]] = {
    None: ("queued",),
    "queued": ("queued", "starting"),
    "starting": ("running", "failed", "withdrawn", "queued"),
    "running": ("finished", "failed", "pruned", "queued"),
    "finished": ("queued",),
    "failed": ("queued", "starting"),
    "pruned": ("queued", "starting"),
    "withdrawn": ("queued",),
}
"""Stage -> those that may come next. A command queues its trials in any state that the last one left."""

UNDER_WAY: tuple[TrialState, ...] = ("starting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEvent:
    """A trial has come to a stage.

    Attributes:
        attempt: the one that it is at; 0 where none has begun.
        at: seconds since the epoch.
    """

    trial_id: str
    attempt: int
    stage: TrialState
    at: float

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise RecordError(f"unknown stage {self.stage!r}; known: {', '.join(STAGES)}")


def check(step: TrialEvent, *, after: TrialState | None) -> None:
    """Check a step. Raises RecordError for an impossible one, which would be a fault of this program."""
    if step.stage not in FOLLOWING[after]:
        raise RecordError(f"trial {step.trial_id} cannot be {step.stage} after it was {after}")


def latest_steps(steps: Iterable[TrialEvent]) -> dict[str, TrialEvent]:
    """The last step of each trial, by trial_id."""
    return {step.trial_id: step for step in steps}
