"""Checkpoint store of a sweep's trials: a folder, or any file system that fsspec knows."""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fsspec import get_filesystem_class
from fsspec.core import split_protocol, url_to_fs
from fsspec.implementations.local import LocalFileSystem

from orchestrator.core.errors import ConfigError, RecordError, TrialError
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Checkpointing
from orchestrator.execute.scheduling.retry import may_go_on
from orchestrator.train.checkpoints.format import ARRAYS, META, read_meta
from orchestrator.train.failures import format_cause
from orchestrator.train.process.temp_dirs import temporary_folder
from orchestrator.train.trainer import CheckpointOptions

_KEPT = 2  # of each trial: the newest may be damaged

logger = logging.getLogger(__name__)


class CheckpointStore:
    """`<url>/<trial_id>/<checkpoint>/`, the newest of each trial.

    Raises:
        ConfigError: nothing here can read and write such a place.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._files, self._root = url_to_fs(url)
        except (ImportError, OSError, ValueError) as error:  # an FTP server is contacted at once
            raise ConfigError(f"checkpoint.path={url} cannot be used: {error}") from error

    def keep(self, folder: Path) -> None:
        """Take over a checkpoint that a worker has made. Of its trial only the one before it stays.

        Later ones are of no use: a training that is behind them was refused them.

        Raises:
            RecordError: it is not what the worker has written, or the place fails.
        """
        trial = read_meta(folder).trial_id
        if "/" in trial or trial in ("", ".", ".."):
            raise RecordError(f"a checkpoint names the trial {trial!r}, which names no folder")
        place = f"{self._root}/{trial}/{folder.name}"
        with self._failing():
            self._files.makedirs(place, exist_ok=True)
            for name in (ARRAYS, META):  # what has no meta.json is none
                self._copy(folder / name, f"{place}/{name}")
            names = self._names(trial)
            index = names.index(folder.name)
            for other in (*names[: max(0, index - 1)], *names[index + 1 :]):
                self._files.rm(f"{self._root}/{trial}/{other}", recursive=True)

    def fetch(self, trial_id: str, into: Path) -> tuple[str, ...]:
        """Copy a trial's checkpoints into a folder of this host: their folders, the newest first.

        Raises:
            RecordError: the place fails.
        """
        with self._failing():
            names = self._names(trial_id)[::-1]
            for name in names:
                (into / name).mkdir()
                for file in self._files.ls(f"{self._root}/{trial_id}/{name}", detail=False):
                    self._files.get_file(file, str(into / name / PurePosixPath(file).name))
        return tuple(str(into / name) for name in names)

    def discard_if_final(self, record: TrialRecord) -> None:
        """Remove a trial's checkpoints if nothing may go on from them, now that its record is durable.

        A failure is logged, and the next command tries again.
        """
        if record.provenance == "rehearsed" or may_go_on(record):
            return
        try:
            with self._failing():
                if record.trial_id in self._names_in(self._root):
                    self._files.rm(f"{self._root}/{record.trial_id}", recursive=True)
        except RecordError as error:
            logger.warning("%s", error)

    def remove_unneeded(self, records: Iterable[TrialRecord]) -> None:
        """Do so for all trials: a driver may have been killed between a record and the removal.

        Raises:
            RecordError: the place fails.
        """
        with self._failing():
            kept = self._names_in(self._root)
        measured = (
            record for record in records if record.provenance == "measured" and record.trial_id in kept
        )
        for record in latest(measured).values():
            self.discard_if_final(record)

    def _names(self, trial_id: str) -> list[str]:
        """List a trial's checkpoints, oldest first; names begin with the step."""
        folder = f"{self._root}/{trial_id}"
        return [name for name in self._names_in(folder) if self._files.exists(f"{folder}/{name}/{META}")]

    def _names_in(self, folder: str) -> list[str]:
        self._files.invalidate_cache()
        if not self._files.exists(folder):
            return []
        return sorted(PurePosixPath(entry).name for entry in self._files.ls(folder, detail=False))

    def _copy(self, source: Path, target: str) -> None:
        self._files.put_file(str(source), target)
        if isinstance(self._files, LocalFileSystem):
            with Path(target).open("rb") as file:
                os.fsync(file.fileno())

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn any exception of a file system of fsspec into a RecordError."""
        try:
            yield
        except Exception as error:
            raise RecordError(f"checkpoints in {self._url}: {format_cause(error)}") from error


def require_place(url: str) -> None:
    """Refuse a place that can never keep a checkpoint. Creates nothing and contacts no server.

    Raises:
        ConfigError: there is no such kind of place, or it is a folder that cannot be made or written.
    """
    try:
        protocol, path = split_protocol(url.rpartition("::")[2])
        kind = get_filesystem_class(protocol or "file")
        if issubclass(kind, LocalFileSystem):
            _require_folder(Path(path))
    except (ImportError, OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"checkpoint.path={url} cannot be used: {cause}") from error


def _require_folder(folder: Path) -> None:
    """Check the folder, or the parent folder in which it would be created."""
    there = next(parent for parent in (folder, *folder.parents) if _is_there(parent))
    if not there.is_dir():
        raise ValueError(f"{str(there)!r} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise ValueError(f"nothing can be written in {str(there)!r}: {error.strerror}") from error


def _is_there(path: Path) -> bool:
    """Return whether a path exists, including a dangling link."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class TrialCheckpoints:
    """The checkpoints of one trial while an attempt at it runs.

    Attributes:
        checkpoint_options: options for the workers; None without checkpoints.
    """

    checkpoint_options: CheckpointOptions | None
    _checkpoints: CheckpointStore | None

    def take(self, folder: Path) -> tuple[str, ...]:
        """Keep what a worker has made: why it could not be kept, in lines. Training goes on without it."""
        assert self._checkpoints is not None, "workers that keep nothing make none"
        try:
            self._checkpoints.keep(folder)
        except RecordError as error:
            logger.warning("%s", error)
            return (str(error),)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return ()


@contextmanager
def open_checkpoints_of_trial(
    placement: Placement, checkpointing: Checkpointing | None
) -> Iterator[TrialCheckpoints]:
    """Open a trial's checkpoints in a folder of this host, with those of earlier attempts. A rehearsal has
    none.

    Raises:
        TrialError: `environment`, when they cannot be read: to begin anew would pay for them twice.
    """
    if checkpointing is None or placement.provenance == "rehearsed":
        yield TrialCheckpoints(None, None)
        return
    checkpoints = CheckpointStore(checkpointing.url)
    with temporary_folder("orchestrator-") as folder:
        new, downloaded = folder / "new", folder / "found"
        new.mkdir()
        downloaded.mkdir()
        checkpoint_options = CheckpointOptions(
            folder=str(new),
            every_seconds=checkpointing.every_seconds,
            grace_seconds=checkpointing.grace_seconds,
            found=_fetched(checkpoints, placement.trial_id, into=downloaded),
        )
        yield TrialCheckpoints(checkpoint_options, checkpoints)


def _fetched(checkpoints: CheckpointStore, trial_id: str, *, into: Path) -> tuple[str, ...]:
    try:
        return checkpoints.fetch(trial_id, into)
    except RecordError as error:
        raise TrialError("environment", str(error)) from error
