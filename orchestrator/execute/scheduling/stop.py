"""Stop requests for a sweep: another terminal, Ctrl-C, SIGTERM."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Literal, cast, get_args

from orchestrator.core.errors import RecordError
from workloads.data.files import require_regular, written_whole

StopRequest = Literal["pause", "cancel"]
"""`pause`: nothing more is started, and what runs comes to its end. `cancel`: what runs leaves too, with a
checkpoint where it makes any."""

FILE_NAME = "halt"

_MESSAGES = {
    "pause": "pausing: nothing more is started, and what runs comes to its end",
    "cancel": "stopping: what runs leaves, with a checkpoint if it makes any; Ctrl-C ends it at once",
}


def request(folder: Path, halt: StopRequest) -> None:
    """Write a stop request for the process that runs the sweep of the folder. Raises RecordError."""
    try:
        with written_whole(folder / FILE_NAME) as made:
            made.write_text(halt)
    except OSError as error:
        raise RecordError(
            f"{str(folder / FILE_NAME)!r} cannot be written: {error.strerror or error}"
        ) from error


class StopSignals:
    """Stop requests for the sweep that this process runs: signals, or `pause` and `cancel` from another
    terminal.

    Args:
        folder: folder of the sweep, where other terminals write their requests.
        on_message: prints one line when a request arrives.
    """

    def __init__(self, folder: Path, *, on_message: Callable[[str], None]) -> None:
        self._path = folder / FILE_NAME
        self._on_message = on_message
        self._announced: set[StopRequest] = set()
        self.is_interrupted = False

    def requested(self) -> StopRequest | None:
        """Return the current stop request, or None."""
        halt = "cancel" if self.is_interrupted else self._written()
        if halt and halt not in self._announced:
            self._announced.add(halt)
            self._on_message(_MESSAGES[halt])
        return halt

    @contextlib.contextmanager
    def accepting_requests(self) -> Iterator[None]:
        """Accept stop requests of other terminals inside the context, and none from before or after it.

        Raises:
            RecordError: an old request file cannot be removed.
        """
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordError(
                f"{str(self._path)!r} cannot be removed: {error.strerror}; remove it by hand"
            ) from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the next command says why
                self._path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Within it a first Ctrl-C or SIGTERM cancels, and a second one raises KeyboardInterrupt."""
        before = {}
        if threading.current_thread() is threading.main_thread():  # signals are heard in no other
            before = {
                number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)
            }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True

    def _written(self) -> StopRequest | None:
        with contextlib.suppress(OSError):
            require_regular(self._path)
            written = self._path.read_bytes().decode(errors="replace")
            if written in get_args(StopRequest):
                return cast(StopRequest, written)
        return None
