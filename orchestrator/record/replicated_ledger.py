"""A ledger with a copy in a bucket: a new head with an empty disk resumes where the old one was."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.errors import RecordError
from orchestrator.core.result import TrialRecord
from orchestrator.record.bucket import BucketStore
from orchestrator.record.ledger import Ledger

logger = logging.getLogger(__name__)

_REST_SECONDS = 300.0  # after a call that failed, which may have taken a tenth of that


class ReplicatedLedger(Ledger):
    """The file is what everything reads; a record is in both places before its trial counts as done.

    An archive that is lost while the sweep runs does not end it, for the file has the record. It is sent with
    one of the next, at the end, or by the next command.

    Args:
        clock: seconds.
    """

    def __init__(
        self, path: Path, archive: BucketStore, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(path)
        self._archive = archive
        self._clock = clock
        self._has_all = False
        self._unsent: list[TrialRecord] = []
        self._rests_until = -math.inf
        self._has_warned = False

    def records(self) -> tuple[TrialRecord, ...]:
        """All records of the file, and those that are in the archive alone. Raises RecordError."""
        own = super().records()
        return own if self._has_all else (*own, *self._archive.only_here(own))

    def append(self, record: TrialRecord) -> None:
        """Append a record as `Ledger.append` does; a record that the file refuses is sent to the bucket
        nevertheless.
        """
        self._unsent.append(record)
        try:
            super().append(record)
        finally:
            self._send()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock as `Ledger.lock` does, and copy missing records both ways at the start and, without an error,
        at the end.

        Raises:
            RecordError: the archive cannot be read or written, or lacks records at the end.
        """
        with super().lock(), self._archive.owned(sweep=self.sweep, folder=self.path.parent):
            own = super().records()
            for record in self._archive.only_here(own):
                super().append(record)
            self._has_all = True
            for record in self._archive.missing_here(own):
                self._archive.put(record)
            try:
                yield
            finally:
                self._rests_until = -math.inf
                self._send()
            if self._unsent:
                raise RecordError(
                    f"{self.path} alone has the last records of sweep {self.sweep!r}, in number "
                    f"{len(self._unsent)}; the same command sends them"
                )

    def _send(self) -> None:
        """Send what the archive lacks, unless it has failed just now."""
        if self._clock() < self._rests_until:
            return
        try:
            while self._unsent:
                self._archive.put(self._unsent[0])
                self._unsent.pop(0)
        except RecordError as error:
            self._rests_until = self._clock() + _REST_SECONDS
            if not self._has_warned:
                logger.warning("%s; %s has what could not be sent", error, self.path)
            self._has_warned = True
        else:
            self._has_warned = False
