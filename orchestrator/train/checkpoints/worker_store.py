"""A worker's side of its trial's checkpoints: which one it goes on from, and how it makes the next."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter

from orchestrator.core.errors import RecordError
from orchestrator.core.trial_spec import trial_id
from orchestrator.train.checkpoints import format as checkpoint
from orchestrator.train.checkpoints.format import Checkpoint, TrainingProgress
from orchestrator.train.checkpoints.schedule import CheckpointScheduler
from orchestrator.train.process.channel import Channel
from orchestrator.train.process.signals import GracefulShutdown
from orchestrator.train.trainer import CheckpointOptions, Trainer, WorkerJob

logger = logging.getLogger(__name__)


class WorkerCheckpointer:
    """Checkpoints of one rank.

    Args:
        packages: the framework's, with their versions.
        meet: waits for all ranks, and returns whether every one of them passed True.

    Attributes:
        notes: checkpoints that were refused or could not be written, with reasons.
    """

    def __init__(
        self,
        job: WorkerJob,
        channel: Channel,
        *,
        packages: Mapping[str, str],
        meet: Callable[[bool], bool],
    ) -> None:
        self.notes: list[str] = []
        self._job = job
        self._channel = channel
        self._packages = packages
        self._meet = meet

    def newest(self) -> Checkpoint | None:
        """The newest that the trial can go on from: the same on every rank, for all read the same files."""
        for folder in self._job.checkpoint_options.found if self._job.checkpoint_options else ():
            try:
                return checkpoint.read(
                    Path(folder), trial_id=trial_id(self._job.trial), packages=self._packages
                )
            except RecordError as error:
                self._note(str(error))
        return None

    @contextlib.contextmanager
    def keeper(self, trainer: Trainer, *, last_step: int) -> Iterator[CheckpointScheduler | None]:
        """Open the checkpoint scheduler, if the trial makes checkpoints; SIGTERM is handled while it is
        open.
        """
        checkpoint_options = self._job.checkpoint_options
        if checkpoint_options is None:
            yield None
            return
        with GracefulShutdown(checkpoint_options.grace_seconds) as leaving:
            yield CheckpointScheduler(
                every_seconds=checkpoint_options.every_seconds,
                last_step=last_step,
                write=lambda progress: self._write(progress, checkpoint_options, trainer=trainer),
                is_asked_to_stop=leaving.is_asked,
                decides=self._job.rank == 0,
                meet=self._meet,
                clock=perf_counter,
                grace_seconds=checkpoint_options.grace_seconds,
            )

    def _write(
        self, progress: TrainingProgress, checkpoint_options: CheckpointOptions, *, trainer: Trainer
    ) -> None:
        """Write the state of rank 0, which is that of all, and report its place; every rank takes part."""
        arrays = trainer.checkpoint()
        if self._job.rank > 0:
            return
        try:
            folder = checkpoint.write(
                Path(checkpoint_options.folder),
                arrays,
                trial_id=trial_id(self._job.trial),
                packages=self._packages,
                progress=progress,
            )
        except OSError as error:
            self._note(f"the checkpoint of step {progress.step} could not be written: {error}")
        else:
            self._channel.send({"event": "checkpoint", "folder": str(folder)})

    def _note(self, line: str) -> None:
        logger.warning("%s", line)
        self.notes.append(line)
