"""States of a trial and their order; progress of a training, to its target too; the reason to prune it.

`docs/explanation/objects.md` draws the states.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from orchestrator.core.errors import RecordError

StageName = Literal["setting up", "first step", "warming up", "timing", "training", "evaluating"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStage:
    """What a training does now, for a person to see. It decides nothing, and no record has it.

    Attributes:
        done, most: timed blocks, or steps of the training, so far and at most; 0 where nothing is counted.
    """

    name: StageName
    done: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A value that one quality metric on held-out data is to reach."""

    metric: str
    value: float
    higher_is_better: bool = True

    def is_reached_by(self, quality: float) -> bool:
        """Return whether a quality equals the target or is better; NaN never is."""
        return quality >= self.value if self.higher_is_better else quality <= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One look at a training on its way.

    Attributes:
        steps: optimizer steps taken so far.
        training_seconds: time from the start of the first step, all evaluations left out; slowest rank.
        quality: value of the target's metric on all held-out data, computed by rank 0.
    """

    steps: int
    training_seconds: float
    quality: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRun:
    """All evaluations of a training that ended at its target, or at the limit of its steps.

    Attributes:
        curve: evaluations in the order of the steps.
        evaluation_seconds: time of these evaluations together; slowest rank.
    """

    target: Target
    curve: tuple[Evaluation, ...]
    evaluation_seconds: float

    @property
    def reached(self) -> Evaluation | None:
        """The first evaluation that was good enough."""
        return next(
            (evaluation for evaluation in self.curve if self.target.is_reached_by(evaluation.quality)), None
        )

    @property
    def best_quality(self) -> float | None:
        """The best that was found; None where no evaluation gave a number."""
        qualities = [
            evaluation.quality for evaluation in self.curve if evaluation.quality == evaluation.quality
        ]
        best = max if self.target.higher_is_better else min
        return best(qualities, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialProgress:
    """State of a training between two timed blocks or after an evaluation, as its first rank measured it.

    Attributes:
        steps: optimizer steps taken so far.
        training_seconds: time from the start of the first step, evaluations and checkpoints left out.
        step_seconds: seconds of a step in every timed block so far; empty in a training of several phases.
        curve: evaluations so far; empty without a target.
    """

    steps: int
    training_seconds: float
    step_seconds: tuple[float, ...] = ()
    curve: tuple[Evaluation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """Decision of a search to end a trial early. It is no result.

    Attributes:
        question: goal, limits and price under which the trial could not win any more.
        why: comparison that showed it, in one line.
        shown: what the training had shown by then.
    """

    question: str
    why: str
    shown: TrialProgress


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


def check_transition(step: TrialEvent, *, after: TrialState | None) -> None:
    """Check a step. Raises RecordError for an impossible one, which would be a fault of this program."""
    if step.stage not in FOLLOWING[after]:
        raise RecordError(f"trial {step.trial_id} cannot be {step.stage} after it was {after}")


def latest_steps(steps: Iterable[TrialEvent]) -> dict[str, TrialEvent]:
    """The last step of each trial, by trial_id."""
    return {step.trial_id: step for step in steps}
