"""Stage of every running trial: a small file in the sweep's folder, for the live view and `status`.

A file costs tens of microseconds, and a message to the driver would cost milliseconds of two
processes while the next block is timed. On a node that does not share the folder no one reads it.
"""

import contextlib
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_progress import TrialStage

_FOLDER = "stages"
_SECONDS = 0.5  # between two writes of one stage
_MOST_SECONDS = 5.0  # that the end of a trial waits for a slow folder


class StageFile:
    """File with the stage of one trial, from the start of its workers to their end.

    A thread writes it, because the ranks wait for the supervisor between two blocks: a slow folder must not
    lengthen their training. A stage is a convenience: where the file cannot be written, there is none.
    """

    def __init__(self, folder: Path, trial_id: str) -> None:
        self._path = _build_path(folder, trial_id)
        self._name = ""
        self._due = 0.0
        self._stages: SimpleQueue[TrialStage | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        self._writer.start()
        self.show(TrialStage(name="setting up"), now=0.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._stages.put(None)
        self._writer.join(_MOST_SECONDS)

    def show(self, stage: TrialStage, *, now: float) -> None:
        """Have a new stage written at once, and the counts of the same one now and then."""
        if stage.name == self._name and now < self._due:
            return
        self._name, self._due = stage.name, now + _SECONDS
        self._stages.put(stage)

    def _write(self) -> None:
        """Write every stage until there is none, then remove the file."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        while (stage := self._stages.get()) is not None:
            with contextlib.suppress(OSError):
                self._path.write_text(to_json(stage), encoding="utf-8")
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def read_stage(folder: Path, trial_id: str) -> TrialStage | None:
    """Read the stage of a running trial; None: it is not known here."""
    try:
        return from_json(TrialStage, _build_path(folder, trial_id).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecordError):
        return None


def _build_path(folder: Path, trial_id: str) -> Path:
    return folder / _FOLDER / f"{trial_id}.json"
