"""A tracker with a thread of its own: a slow server delays no trial."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread

from orchestrator.core.result import TrialRecord
from orchestrator.record.tracking.tracker import LoggedRecord, Prediction, SweepOutline, Tracker

logger = logging.getLogger(__name__)

_MOST_WAITING = 1000  # records; the ledger has the others, and the next command sends them
_PATIENCE_SECONDS = 120.0  # without a record or the end: first answers take a minute on a busy host
_INTERRUPTED_SECONDS = 5.0


class BackgroundTracker:
    """A tracker (`tracker.Tracker`) that passes every call to another one in a thread.

    Its calls return at once; `finish` waits for the remaining ones, while there is progress.

    Args:
        is_on_this_host: True of a database file. Writing it takes time from a trial that is measured here, so
            that `wait_for_writes` waits until all is written; the thread opens it while the cluster starts.
    """

    def __init__(self, tracker: Tracker, *, is_on_this_host: bool = False) -> None:
        self._tracker = tracker
        self._is_on_this_host = is_on_this_host
        self._waiting: SimpleQueue[Iterable[LoggedRecord] | None] = SimpleQueue()
        self._num_given = self._num_taken = 0  # of `begin` and what waits
        self._changed = Condition()
        self._thread: Thread | None = None
        self._files: Sequence[Path] = ()
        self._predictions: Sequence[Prediction] = ()
        self._is_interrupted = self._is_broken = False
        self._left = self._num_done = 0

    @property
    def missed(self) -> int:
        """Records that the server could not be given so far, and that do not wait."""
        return self._tracker.missed + self._left

    @property
    def refused(self) -> int:
        """Records that the server does not take."""
        return self._tracker.refused

    @property
    def sent(self) -> int:
        """Records that the server was given."""
        return self._tracker.sent

    @property
    def experiment_id(self) -> str | None:
        """Id of the sweep's experiment; None where the server has not answered so far."""
        return self._tracker.experiment_id

    def shows(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> bool:
        """Return whether the report and the records are known to be shown, now."""
        return self._tracker.shows(files, outline=outline, kept=kept)

    def begin(self, outline: SweepOutline) -> None:
        """Open the sweep, soon."""
        self._num_given += 1
        self._thread = Thread(target=self._work, args=(outline,), daemon=True)
        self._thread.start()

    def sync(self, kept: Iterable[LoggedRecord]) -> None:
        """Give the server the records that it lacks, soon."""
        self._give(kept)

    def save(self, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        """Mirror one attempt of a trial, soon."""
        if not self._is_broken and self._waiting.qsize() < _MOST_WAITING:
            self._give([(record, metrics)])
        else:
            self._left += 1

    def wait_for_writes(self) -> None:
        """Wait until a database of this host has all that was given, while there is progress."""
        if not self._is_on_this_host:
            return
        with self._changed:
            before = -1
            while before != self._num_done:
                before = self._num_done
                if self._changed.wait_for(self._has_written, _PATIENCE_SECONDS):
                    return

    def _has_written(self) -> bool:
        """Return whether nothing waits, or nothing writes any more."""
        return self._is_broken or self._num_taken == self._num_given

    def finish(self, files: Sequence[Path], *, predictions: Sequence[Prediction] = ()) -> None:
        """Close the sweep once nothing waits; an interrupted one at once. A server that is stuck is left."""
        assert self._thread is not None, "it was begun"
        self._is_interrupted = not files
        self._files, self._predictions = files, predictions
        self._waiting.put(None)
        is_hasty = self._is_interrupted and not self._is_on_this_host
        self._wait_for(self._thread, seconds=_INTERRUPTED_SECONDS if is_hasty else _PATIENCE_SECONDS)
        if self._thread.is_alive() or self._left:
            logger.warning(
                "the tracking server lacks records; `sync`, or the next run of the sweep, sends them"
            )

    def attach(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> None:
        """Put a report in the place of the sweep's former one, now."""
        self._tracker.attach(files, outline=outline, kept=kept)

    def _give(self, kept: Iterable[LoggedRecord]) -> None:
        self._num_given += 1
        self._waiting.put(kept)

    def _work(self, outline: SweepOutline) -> None:
        try:
            self._send(outline)
        except Exception as error:  # noqa: BLE001  a tracker of another distribution may raise all the same
            logger.warning("the tracking server failed: %s: %s", type(error).__name__, error)
            with self._changed:
                self._is_broken = True
                self._left += 1 + self._waiting.qsize()
                self._changed.notify_all()

    def _send(self, outline: SweepOutline) -> None:
        self._tracker.begin(outline)
        self._count_taken()
        while (waiting := self._waiting.get()) is not None:
            for record, metrics in waiting:
                if self._is_interrupted:
                    break
                self._tracker.save(record, metrics)
                self._num_done += 1
            self._count_taken()
        self._tracker.finish(self._files, predictions=self._predictions)

    def _count_taken(self) -> None:
        with self._changed:
            self._num_taken += 1
            self._changed.notify_all()

    def _wait_for(self, thread: Thread, *, seconds: float) -> None:
        """Wait until the thread ends, or until it has done nothing for that long."""
        before = self._progress()
        thread.join(seconds)
        while thread.is_alive() and before != (now := self._progress()):
            logger.warning("the tracking server is behind; Ctrl-C leaves what waits for it to `sync`")
            before = now
            thread.join(seconds)

    def _progress(self) -> tuple[int, int]:
        return self._num_done, self._tracker.sent
