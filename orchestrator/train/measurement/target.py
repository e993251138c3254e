"""Evaluations of a training at intervals, until all ranks agree that its target is reached."""

from collections.abc import Callable, Mapping

from orchestrator.core.errors import TrialError
from orchestrator.core.trial_progress import Evaluation, Target, TargetRun


class TargetEvaluator:
    """Evaluator of a target, with a clock that training does not share.

    Args:
        every_steps: steps from one evaluation to the next; an evaluation that falls into a timed block waits
            for its end.
        evaluate: quality on all held-out data by metric; the device is idle before and after it.
        decides: whether this rank decides if the target is reached. One rank decides for all, for the last
            bits of quality may differ between them, and all must end at the same step.
        meet: waits for all ranks, and returns whether every one of them passed True.
        clock: seconds.
        curve: evaluations of earlier attempts.
    """

    def __init__(
        self,
        target: Target,
        *,
        every_steps: int,
        evaluate: Callable[[], Mapping[str, float]],
        decides: bool,
        meet: Callable[[bool], bool],
        clock: Callable[[], float],
        curve: tuple[Evaluation, ...] = (),
    ) -> None:
        self.seconds = 0.0
        self.is_over = any(target.is_reached_by(evaluation.quality) for evaluation in curve)
        self._target = target
        self._every_steps = every_steps
        self._evaluate = evaluate
        self._decides = decides
        self._meet = meet
        self._clock = clock
        self._curve = list(curve)

    @property
    def curve(self) -> tuple[Evaluation, ...]:
        """Evaluations of this rank so far."""
        return tuple(self._curve)

    def next_look(self) -> int:
        """The number of steps after which the next evaluation is due."""
        return self._curve[-1].steps + self._every_steps

    def look(self, steps: int, *, training_seconds: float) -> None:
        """Evaluate. Raises TrialError for a workload that does not measure the metric."""
        start = self._clock()
        metrics = self._evaluate()
        if self._target.metric not in metrics:
            names = ", ".join(metrics) or "nothing"
            raise TrialError("error", f"evaluating gives no {self._target.metric!r}; it gives {names}")
        quality = metrics[self._target.metric]
        self._curve.append(Evaluation(steps=steps, training_seconds=training_seconds, quality=quality))
        reached = self._meet(not self._decides or self._target.is_reached_by(quality))
        self.is_over = self.is_over or reached
        self.seconds += self._clock() - start

    def pursuit(self) -> TargetRun:
        """The way to the target, as this rank saw it."""
        return TargetRun(target=self._target, curve=self.curve, evaluation_seconds=self.seconds)
