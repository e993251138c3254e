"""Write checkpoints periodically, and a final one when the process receives SIGTERM."""

from collections.abc import Callable

from orchestrator.core.errors import TrialError
from orchestrator.train.checkpoints.format import TrainingProgress


class CheckpointScheduler:
    """Schedule of checkpoints between timed parts, with a clock that training does not share.

    Args:
        every_seconds: time between two checkpoints, and before the first one.
        last_step: last step with a checkpoint; fewer steps would be left than timing needs.
        write: make a checkpoint; called on every rank, with an idle device.
        is_asked_to_stop: returns True after a stop request to this process; then all ranks leave at one step.
        decides: True if this rank decides when a checkpoint is due.
        meet: waits for all ranks, and returns whether every one of them passed True.
        clock: seconds.
        grace_seconds: seconds from a stop request to the end of the process.

    Attributes:
        longest_part_seconds: longest timed part that leaves time for a checkpoint after a stop request.
    """

    def __init__(
        self,
        *,
        every_seconds: float,
        last_step: int,
        write: Callable[[TrainingProgress], None],
        is_asked_to_stop: Callable[[], bool],
        decides: bool,
        meet: Callable[[bool], bool],
        clock: Callable[[], float],
        grace_seconds: float,
    ) -> None:
        self.longest_part_seconds = grace_seconds / 2
        self.seconds = 0.0
        self.num_written = 0
        self._every_seconds = every_seconds
        self._last_step = last_step
        self._write = write
        self._is_asked_to_stop = is_asked_to_stop
        self._decides = decides
        self._meet = meet
        self._clock = clock
        self._since = clock()

    def look(
        self, step: int, build_progress: Callable[[], TrainingProgress], *, only_if_stopped: bool = False
    ) -> None:
        """Make a checkpoint if one is due. Raise TrialError, `preempted`, if a rank has to stop.

        Args:
            only_if_stopped: leave out the periodic checkpoints.
        """
        start = self._clock()
        leaves = self._is_asked_to_stop()
        if not self._meet(not (leaves or (not only_if_stopped and self._is_due(step)))):
            all_stay = self._meet(not leaves)
            self._keep(step, build_progress)
            if not all_stay:
                raise TrialError("preempted", f"told to leave (SIGTERM) after step {step}")
        self.seconds += self._clock() - start

    def _is_due(self, step: int) -> bool:
        late = self._clock() - self._since >= self._every_seconds
        return self._decides and late and step <= self._last_step

    def _keep(self, step: int, build_progress: Callable[[], TrainingProgress]) -> None:
        if step <= self._last_step:
            self._write(build_progress())
            self.num_written += 1
            self._since = self._clock()
        self._meet(True)  # the answer comes when the supervisor has the checkpoint
