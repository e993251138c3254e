"""Append-only journal of a sweep's trials: every step is on disk before it is taken."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_progress import TrialEvent, TrialState, check_transition, latest_steps
from orchestrator.record.fsync import read_content, sync_folder, write_synced

JOURNAL_NAME = "journal.jsonl"


class Journal:
    """The steps of one sweep, one JSON object a line. Anybody may read; only its driver writes.

    It has the trials under way when a driver was killed, and how often each was begun. Finished trials are in
    the ledger only.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._latest: dict[str, TrialEvent] | None = None

    def steps(self) -> tuple[TrialEvent, ...]:
        """All steps. A line that is none was being written when its driver was killed.

        Raises:
            RecordError: the file cannot be read.
        """
        try:
            lines = read_content(self._path).splitlines()
        except OSError as error:
            raise RecordError(f"{self._path} cannot be read: {error.strerror or error}") from error
        return tuple(step for step in map(_step_or_none, lines) if step)

    def note(self, stage: TrialState, trials: Iterable[tuple[str, int]]) -> None:
        """Keep that trials have come to a stage, each with the number of its attempt.

        Raises:
            RecordError: they cannot have, or it cannot be kept.
        """
        if self._latest is None:
            self._latest = latest_steps(self.steps())
        now = time.time()
        steps = [
            TrialEvent(trial_id=trial_id, attempt=number, stage=stage, at=now) for trial_id, number in trials
        ]
        for step in steps:
            before = self._latest.get(step.trial_id)
            check_transition(step, after=before.stage if before else None)
        self._write(steps, latest=self._latest.values())
        self._latest.update(latest_steps(steps))

    def _write(self, steps: Iterable[TrialEvent], *, latest: Iterable[TrialEvent]) -> None:
        """A line that a killed driver left torn stays so: the next one begins anew.

        Args:
            latest: last steps so far, which a file that was removed meanwhile gets back.
        """
        try:
            is_new = not self._path.exists()
            if is_new:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            begin = b"" if is_new or _ends_a_line(self._path) else b"\n"
            lines = (*latest, *steps) if is_new else steps
            text = "".join(f"{to_json(step)}\n" for step in lines)
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
