"""Append-only journal of a sweep's trials: every step is on disk before it is taken."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_state import TrialEvent, TrialState, check, latest_steps
from orchestrator.record.fsync import content_of, sync_folder, write_synced

JOURNAL_NAME = "journal.jsonl"


class Journal:
    """The steps of one sweep, one JSON object a line. Anybody may read; only its driver writes.

    It says what was under way when a driver was killed, and how often a trial was begun. What is done the
    ledger says alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at: dict[str, TrialState] | None = None

    def steps(self) -> tuple[TrialEvent, ...]:
        """All steps. A line that is none was being written when its driver was killed.

        Raises:
            RecordError: the file cannot be read.
        """
        try:
            lines = content_of(self._path).splitlines()
        except OSError as error:
            raise RecordError(f"{self._path} cannot be read: {error.strerror or error}") from error
        return tuple(step for step in map(_step_or_none, lines) if step)

    def note(self, stage: TrialState, trials: Iterable[tuple[str, int]]) -> None:
        """Keep that trials have come to a stage, each with the number of its attempt.

        Raises:
            RecordError: they cannot have, or it cannot be kept.
        """
        if self._at is None:
            self._at = {step.trial_id: step.stage for step in latest_steps(self.steps()).values()}
        now = time.time()
        steps = [
            TrialEvent(trial_id=trial_id, attempt=number, stage=stage, at=now) for trial_id, number in trials
        ]
        for step in steps:
            check(step, after=self._at.get(step.trial_id))
        self._write("".join(f"{to_json(step)}\n" for step in steps))
        self._at.update((step.trial_id, step.stage) for step in steps)

    def _write(self, text: str) -> None:
        """A line that a killed driver left torn stays so: the next one begins anew."""
        try:
            is_new = not self._path.exists()
            begin = b"" if is_new or _ends_a_line(self._path) else b"\n"
            write_synced(self._path, begin + text.encode(), mode="ab")
            if is_new:
                sync_folder(self._path.parent)
        except OSError as error:
            raise RecordError(f"{self._path} cannot be written: {error.strerror or error}") from error


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _step_or_none(line: bytes) -> TrialEvent | None:
    try:
        return from_json(TrialEvent, line.decode(errors="replace"))
    except RecordError:
        return None
