"""A process that dies with the one that started it."""

import ctypes
import os
import signal
from types import FrameType, TracebackType

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent ends; end at once if the parent has gone already.

    The signal follows the parent's *thread* that started this process: start workers from its main thread.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


class GracefulShutdown:
    """Within it SIGTERM ends nothing at once: it is noted, and SIGALRM ends the process after the grace.

    To be entered in the main thread.

    Args:
        grace_seconds: time after the notice.
    """

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._is_asked = False

    def is_asked(self) -> bool:
        """Return whether the notice has arrived."""
        return self._is_asked

    def __enter__(self) -> "GracefulShutdown":
        signal.signal(signal.SIGTERM, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._is_asked = True
        signal.setitimer(signal.ITIMER_REAL, self._grace_seconds)
