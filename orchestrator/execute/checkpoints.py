"""Where the checkpoints of a sweep's trials are kept: a folder, or whatever else fsspec has a name for."""

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from orchestrator.core.errors import ConfigError
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Checkpointing
from orchestrator.execute.folders import temporary_folder
from orchestrator.execute.retry import may_go_on
from orchestrator.train.base import Keeping
from orchestrator.train.checkpoint import ARRAYS, META, meta_of
from orchestrator.train.failures import line_of

_KEPT = 2  # of each trial: the newest may be damaged

logger = logging.getLogger(__name__)


class Checkpoints:
    """`<url>/<trial_id>/<checkpoint>/`, the newest of each trial.

    Raises:
        ConfigError: nothing here can read and write such a place.
    """

    def __init__(self, url: str) -> None:
        try:
            self._files, self._root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError(f"checkpoint.path={url} cannot be used: {error}") from error

    def keep(self, folder: Path) -> None:
        """Take over a checkpoint that a worker has made, and let go of those that two newer ones follow.

        Raises:
            RecordError: it is not what the worker has written.
        """
        trial = meta_of(folder).trial_id
        place = f"{self._root}/{trial}/{folder.name}"
        self._files.makedirs(place, exist_ok=True)
        for name in (ARRAYS, META):  # what has no meta.json is none
            self._copy(folder / name, f"{place}/{name}")
        for older in self._names(trial)[:-_KEPT]:
            self._files.rm(f"{self._root}/{trial}/{older}", recursive=True)

    def fetch(self, trial_id: str, into: Path) -> tuple[str, ...]:
        """Copy a trial's checkpoints into a folder of this host: their folders, the newest first."""
        names = self._names(trial_id)[::-1]
        for name in names:
            (into / name).mkdir()
            for file in self._files.ls(f"{self._root}/{trial_id}/{name}", detail=False):
                self._files.get_file(file, str(into / name / PurePosixPath(file).name))
        return tuple(str(into / name) for name in names)

    def settle(self, record: TrialRecord) -> None:
        """Remove a trial's checkpoints if nothing may go on from them, now that its record is durable."""
        folder = f"{self._root}/{record.trial_id}"
        if record.provenance == "measured" and not may_go_on(record) and self._files.exists(folder):
            self._files.rm(folder, recursive=True)

    def settle_all(self, records: Iterable[TrialRecord]) -> None:
        """Do so for all trials: a driver may have been killed between a record and the removal."""
        for record in latest(each for each in records if each.provenance == "measured").values():
            self.settle(record)

    def _names(self, trial_id: str) -> list[str]:
        """The oldest first: names begin with the step."""
        return sorted(PurePosixPath(each).parts[-2] for each in self._metas(trial_id))

    def _metas(self, trial_id: str) -> list[str]:
        self._files.invalidate_cache()
        return list(self._files.glob(f"{self._root}/{trial_id}/*/{META}"))

    def _copy(self, source: Path, target: str) -> None:
        self._files.put_file(str(source), target)
        if isinstance(self._files, LocalFileSystem):
            with Path(target).open("rb") as file:
                os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Shelf:
    """The checkpoints of one trial while an attempt at it runs.

    Attributes:
        keeping: what workers are told of them; None where there are none.
    """

    keeping: Keeping | None
    _checkpoints: Checkpoints | None

    def take(self, folder: Path) -> tuple[str, ...]:
        """Keep what a worker has made: why it could not be kept, in lines. Training goes on without it."""
        assert self._checkpoints is not None, "workers that keep nothing make none"
        try:
            self._checkpoints.keep(folder)
        except Exception as error:  # noqa: BLE001  # a store of fsspec's may raise anything
            line = f"a checkpoint could not be kept: {line_of(error)}"
            logger.warning("%s", line)
            return (line,)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return ()


@contextmanager
def shelf_of(placement: Placement, checkpointing: Checkpointing | None) -> Iterator[Shelf]:
    """With the checkpoints that earlier attempts left, in a folder of this host. A rehearsal has none."""
    if checkpointing is None or placement.provenance == "rehearsed":
        yield Shelf(None, None)
        return
    checkpoints = Checkpoints(checkpointing.url)
    with temporary_folder("orchestrator-") as folder:
        new, found = folder / "new", folder / "found"
        new.mkdir()
        found.mkdir()
        keeping = Keeping(
            folder=str(new),
            every_seconds=checkpointing.every_seconds,
            grace_seconds=checkpointing.grace_seconds,
            found=checkpoints.fetch(placement.trial_id, found),
        )
        yield Shelf(keeping, checkpoints)
