"""A quality to train to, and how a training came to it."""

from dataclasses import dataclass


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
