"""What a training does and has shown before its end, and why it was ended: a pruned trial."""

from dataclasses import dataclass
from typing import Literal

from orchestrator.core.target import Evaluation

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
