"""Follows a sweep for its journal, and for whoever looks."""

from orchestrator.core.result import TrialRecord
from orchestrator.core.stage import Stage
from orchestrator.execute.base import Attempt, Watcher
from orchestrator.record.journal import Journal


class Followed:
    """A watcher that another one watches through: what it is told of is in the journal first."""

    def __init__(self, watcher: Watcher, journal: Journal) -> None:
        self._watcher = watcher
        self._journal = journal

    def started(self, attempt: Attempt) -> None:
        """As `Watcher.started`: the attempt counts from here on."""
        self._journal.note("starting", [_key_of(attempt)])
        self._watcher.started(attempt)

    def placed(self, attempt: Attempt) -> None:
        """As `Watcher.placed`."""
        self._journal.note("running", [_key_of(attempt)])
        self._watcher.placed(attempt)

    def ended(self, record: TrialRecord) -> None:
        """As `Watcher.ended`."""
        stage: Stage = "failed" if record.failure else "finished"
        self._journal.note(stage, [(record.trial_id, record.attempt)])
        self._watcher.ended(record)

    def withdrawn(self, attempt: Attempt) -> None:
        """As `Watcher.withdrawn`."""
        self._journal.note("withdrawn", [_key_of(attempt)])
        self._watcher.withdrawn(attempt)


def _key_of(attempt: Attempt) -> tuple[str, int]:
    return attempt.placement.trial_id, attempt.number
