"""A notice that this process must leave soon, and the time that it has until then."""

import signal
from types import FrameType, TracebackType


class Leaving:
    """Within it SIGTERM ends nothing at once: it is noted, and SIGALRM ends the process after the grace.

    To be entered in the main thread.

    Args:
        grace_seconds: from the notice on.
    """

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._is_told = False

    def is_told(self) -> bool:
        """Whether the notice has come."""
        return self._is_told

    def __enter__(self) -> "Leaving":
        signal.signal(signal.SIGTERM, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._is_told = True
        signal.setitimer(signal.ITIMER_REAL, self._grace_seconds)
