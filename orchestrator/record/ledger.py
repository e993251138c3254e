"""The append-only file of a sweep's records: a line is on disk before its trial counts as done."""

import errno
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from orchestrator.core.errors import RecordError
from orchestrator.core.result import TrialRecord
from orchestrator.record.fsync import read_content, sync_folder, write_synced
from orchestrator.record.ledger_lines import Lines, encode_record, parse_lines
from orchestrator.record.lock import exclusive_lock, lock_holder

logger = logging.getLogger(__name__)

FILE_NAME = "records.jsonl"

_FULL = (errno.ENOSPC, errno.EDQUOT)
_RESERVE_BYTES = 1 << 20  # which the lock holds: a full disk still takes some tens of records


class Ledger:
    """The records of one sweep, one JSON object a line, in the order in which they were made.

    Anybody may read. Only the driver that holds `lock` writes.

    Args:
        path: `outputs/<sweep>/records.jsonl`; its folder names the sweep.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sweep = path.parent.name
        self._reserve = path.with_suffix(".reserve")
        self._is_ready = False
        self._known: list[bytes] = []
        self._held: ExitStack | None = None

    def records(self) -> tuple[TrialRecord, ...]:
        """Return all records; a line that is none is left out and logged.

        Raises:
            RecordError: the file cannot be read, or a later version wrote to it.
        """
        if self._held and not self.path.exists():
            with self._refusal():
                self._prepare()
        lines = self._lines()
        if lines.bad:
            self._warn_of_bad(lines)
        return lines.records

    def append(self, record: TrialRecord) -> None:
        """Keep a record: when this returns, it is on disk.

        Raises:
            RecordError: it cannot be kept, or the disk is full; then it is kept where the lock is held.
        """
        line = encode_record(record)
        with self._refusal():
            try:
                self._add(line)
            except OSError as error:
                if error.errno not in _FULL or not self._reserve.exists():
                    raise
                self._reserve.unlink()
                self._add(line)
                raise RecordError(
                    f"the disk of {str(self.path.parent)!r} is full; its records are kept, and no other "
                    f"trial is started: make room, and the same command runs the rest"
                ) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only driver of this sweep, with a mended ledger that can be written.

        Raises:
            RecordError: another process drives it, a later version wrote to it, or it cannot be written.
        """
        with ExitStack() as held:
            with self._refusal():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(exclusive_lock(self._lock_path, sweep=self.sweep))
                self._known, self._is_ready = [], False
                self._prepare()
                self._held = held
                held.callback(self._forget)
                held.callback(self._give_up_reserve)
                write_synced(self._reserve, os.urandom(_RESERVE_BYTES), mode="wb")  # zeros may take no room
            yield

    def holder(self) -> str | None:
        """Return the process that runs the sweep, `process 4711`, or None."""
        return lock_holder(self._lock_path)

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name("driver.lock")

    @property
    def _corrupt_path(self) -> Path:
        return self.path.with_suffix(".corrupt.jsonl")

    def _warn_of_bad(self, lines: Lines) -> None:
        """Show what becomes of lines that are no records, once: a run reads the file, then mends it."""
        _warn_once(f"{self.path}: {_describe_bad(lines, corrupt=self._corrupt_path.name)}")

    def _forget(self) -> None:
        self._known, self._held = [], None

    def _give_up_reserve(self) -> None:
        with suppress(OSError):  # a folder in its place was refused before
            self._reserve.unlink()

    def _lines(self) -> Lines:
        try:
            return parse_lines(read_content(self.path))
        except OSError as error:
            raise RecordError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except RecordError as error:
            raise RecordError(f"{self.path}: {error}") from error

    def _add(self, line: bytes) -> None:
        """Append a line, or nothing of it."""
        self._prepare()
        self._is_ready = False  # a process that is killed leaves a torn line for the next one to mend
        size = self.path.stat().st_size
        try:
            write_synced(self.path, line, mode="ab")
        except OSError:
            os.truncate(self.path, size)
            raise
        self._known.append(line.removesuffix(b"\n"))
        self._is_ready = True

    def _prepare(self) -> None:
        """Make the file ready to be appended to: there, and nothing but whole records in it."""
        is_there = self.path.exists()
        if self._is_ready and is_there:
            return
        if not is_there:
            self._make()
        lines = self._lines()
        if not lines.is_whole:
            self._mend(lines)
        self._known = list(lines.good)
        self._is_ready = True

    def _make(self) -> None:
        """Make the file, with the records of one that was removed while this process drives the sweep."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._held and not self._lock_path.exists():
            self._held.enter_context(exclusive_lock(self._lock_path, sweep=self.sweep))
        write_synced(self.path, _joined(self._known), mode="ab")
        sync_folder(self.path.parent)
        if self._known:
            records = f"{len(self._known)} record{'s' if len(self._known) > 1 else ''}"
            logger.warning("%s was removed while its sweep ran; made again with its %s", self.path, records)

    def _mend(self, lines: Lines) -> None:
        """Move lines that are not records to a file beside the ledger. Keep all records byte for byte."""
        if lines.bad:
            self._warn_of_bad(lines)
            write_synced(self._corrupt_path, _joined(bad.text for bad in lines.bad), mode="ab")
        mended = self.path.with_suffix(".mended")
        write_synced(mended, _joined(lines.good), mode="wb")
        mended.replace(self.path)
        sync_folder(self.path.parent)

    @contextmanager
    def _refusal(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordError(
                f"records of sweep {self.sweep!r} cannot be kept in {str(self.path.parent)!r}: "
                f"{error.strerror or error}; run where that folder can be written"
            ) from error


def read_ledgers(outputs: Path, *, sweep: str) -> dict[str, tuple[TrialRecord, ...]]:
    """Read the records of every sweep under `outputs`, by its name.

    A ledger that cannot be read is left out and logged, unless it is that of `sweep`: others have only
    results that could have been reused.

    Raises:
        RecordError: the ledger of `sweep` cannot be read, or a later version wrote to it.
    """
    ledgers = {}
    for ledger in (Ledger(path) for path in sorted(outputs.glob(f"*/{FILE_NAME}"))):
        try:
            ledgers[ledger.sweep] = ledger.records()
        except RecordError as error:
            if ledger.sweep == sweep:
                raise
            _warn_once(f"{error}; sweep {ledger.sweep!r} is left out, and nothing of it is reused")
    return ledgers


@cache
def _warn_once(warning: str) -> None:
    """Log a warning once: a command reads its ledgers several times."""
    logger.warning("%s", warning)


def _describe_bad(lines: Lines, *, corrupt: str) -> str:
    """Describe all lines that are no records in one sentence, with the number of them and the first cause."""
    first = lines.bad[0]
    if len(lines.bad) == 1:
        return f"line {first.number} is left out, and a run moves it to {corrupt}: {first.cause}"
    return (
        f"{len(lines.bad)} lines are left out, and a run moves them to {corrupt}; "
        f"the first of them, line {first.number}: {first.cause}"
    )


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
