"""All processes that came of this one, and their end.

What a daemon leaves behind becomes the child of its nearest subreaper: so nothing that was started below one
can get away.
"""

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36


def keep_orphans() -> None:
    """Become the parent of every process that came of this one and has lost its own."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)


def end_descendants() -> None:
    """Kill all processes that came of this one, until none is left; only for one that keeps its orphans."""
    while children := descendants(os.getpid()):
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap()


def descendants(pid: int) -> list[int]:
    """Process ids of all children of a process, and of theirs."""
    children = [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(task)]
    return [*children, *(descendant for child in children for descendant in descendants(child))]


def _read(children: Path) -> list[int]:
    try:
        return [int(word) for word in children.read_text().split()]
    except OSError:  # its process has ended
        return []


def _reap() -> None:
    """Take leave of the children that have ended; wait for one if there is any child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
