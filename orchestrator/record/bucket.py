"""The second home of a sweep's records: one object each in a bucket, which outlives the driver's disk."""

import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import TypeVar

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.result import TrialRecord
from orchestrator.record.ledger_lines import encode_record, parse_lines
from orchestrator.record.timeout import call_with_timeout
from orchestrator.train.failures import format_cause

_CALL_SECONDS = 30.0  # what is behind fsspec tries again for minutes
_AT_ONCE = 100  # objects that one call reads
_SUFFIX = ".json"

T = TypeVar("T")

logger = logging.getLogger(__name__)


class BucketStore:
    """`<url>/records/<record>.json`, and in `<url>/driver.json` who runs the sweep.

    Args:
        url: the sweep's folder in a bucket (`gs://…`, `s3://…`), without user and password.

    Raises:
        ConfigError: no installed package can write to this kind of URL.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._files, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError(f"record.path={url} cannot be used: {error}") from error
        if isinstance(self._files, LocalFileSystem):
            raise ConfigError(
                f"record.path={url} is not a bucket; for a folder that all heads see set outputs=DIR"
            )
        self._records = f"{root}/records"
        self._claim = f"{root}/driver.json"

    def put(self, record: TrialRecord) -> None:
        """Keep a record, once: when this returns it is there. Raises RecordError if it cannot be kept."""
        path = f"{self._records}/{name_object(record)}"
        self._asked(lambda: self._create(path, encode_record(record)))

    def missing_here(self, records: Iterable[TrialRecord]) -> tuple[TrialRecord, ...]:
        """Return the given records that the bucket lacks. Raises RecordError."""
        names = self._asked(self._names)
        return tuple(record for record in records if name_object(record) not in names)

    def only_here(self, records: Iterable[TrialRecord]) -> tuple[TrialRecord, ...]:
        """Return the bucket's records that are not among the given ones, in the order of their ends.

        An object that is not a record is skipped with a warning.

        Raises:
            RecordError: it cannot be read, or a later version wrote to it.
        """
        uploaded = {name_object(record) for record in records}
        names = sorted(self._asked(self._names) - uploaded)
        batches = (names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE))
        stored = [record for batch in batches for record in self._read(batch)]
        return tuple(
            sorted(
                (batch for batch in stored if name_object(batch) not in uploaded), key=attrgetter("ended_at")
            )
        )

    @contextmanager
    def owned(self, *, sweep: str, folder: Path) -> Iterator[None]:
        """Claim the sweep for this driver, and warn of a claim of another driver that has not been released.

        The other driver may have died with its machine, so no process is refused.

        Args:
            folder: the sweep's on this host; of two drivers in one folder its lock lets in only one.

        Raises:
            RecordError: the place cannot be written.
        """
        driver = Driver(
            host=platform.node(),
            folder=str(folder.absolute()),
            process=os.getpid(),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        other = self._asked(self._driver)
        if other and (other.host, other.folder) != (driver.host, driver.folder):
            logger.warning(
                "sweep %r in %s was begun by %s, which has not said that it ended: if it still runs, end one "
                "of both, for they run the same trials",
                sweep,
                self._url,
                other,
            )
        self._asked(lambda: self._files.pipe_file(self._claim, to_json(driver).encode()))
        try:
            yield
        finally:
            with suppress(RecordError):  # the next driver elsewhere is then told of this one
                self._asked(lambda: self._leave(driver))

    def _names(self) -> frozenset[str]:
        self._files.invalidate_cache()
        try:
            paths = self._files.ls(self._records, detail=False)
        except FileNotFoundError:
            return frozenset()
        return frozenset(PurePosixPath(path).name for path in paths if path.endswith(_SUFFIX))

    def _read(self, names: Sequence[str]) -> Iterator[TrialRecord]:
        contents = self._asked(lambda: self._files.cat([f"{self._records}/{name}" for name in names]))
        for path, content in contents.items():
            name = PurePosixPath(path).name
            try:
                lines = parse_lines(content)
            except RecordError as error:
                raise RecordError(f"{self._url}/records/{name}: {error}") from error
            if len(lines.records) != 1:
                cause = lines.bad[0].cause if lines.bad else f"it holds {len(lines.records)} records"
                logger.warning("%s/records/%s is left out: %s", self._url, name, cause)
            else:
                yield lines.records[0]

    def _create(self, path: str, content: bytes) -> None:
        with suppress(FileExistsError):  # an earlier call did so, or this one, whose answer was lost
            self._files.pipe_file(path, content, mode="create")

    def _driver(self) -> "Driver | None":
        try:
            return from_json(Driver, self._files.cat_file(self._claim).decode())
        except FileNotFoundError:
            return None

    def _leave(self, driver: "Driver") -> None:
        if self._driver() == driver:
            self._files.rm_file(self._claim)

    def _asked(self, call: Callable[[], T]) -> T:
        """Return the result of a call to the bucket; raise every error of fsspec's file systems as a
        RecordError.
        """
        try:
            return call_with_timeout(_CALL_SECONDS, call)
        except TimeoutError as error:
            raise RecordError(f"records in {self._url}: no answer within {_CALL_SECONDS:g} s") from error
        except Exception as error:
            raise RecordError(f"records in {self._url}: {format_cause(error)}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A process that runs a sweep: on which host, in which folder of it, since when (UTC)."""

    host: str
    folder: str
    process: int
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on host {self.host} in {self.folder} at {self.since}"


def name_object(record: TrialRecord) -> str:
    """Name the object of an attempt: the same record is the same object, and another attempt is another one.

    If the count of attempts was lost with a disk, their starts differ.
    """
    start = round(record.started_at * 1e6)
    return f"{record.trial_id}-{record.provenance}-{record.attempt}-{start}{_SUFFIX}"
