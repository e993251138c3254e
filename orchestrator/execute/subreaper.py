"""A process that starts another, and ends all that came of it as soon as its own standard input ends.

What a daemon leaves behind becomes the child of its nearest subreaper, which is this process: so nothing that
was started here can get away, and the kernel closes the standard input however the owner dies.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def main(command: Sequence[str]) -> int:
    """Run the command, say `ready` if it succeeds, wait for the end of standard input; end all that lives."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode == 0:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.read()
    finally:
        while children := descendants(os.getpid()):
            for pid in children:
                _kill(pid)
            _reap()
    return 0


def descendants(pid: int) -> list[int]:
    """Process ids of all children of a process, and of theirs."""
    found = [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(task)]
    return [*found, *(each for child in found for each in descendants(child))]


def _read(children: Path) -> list[int]:
    try:
        return [int(each) for each in children.read_text().split()]
    except OSError:  # its process has ended
        return []


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _reap() -> None:
    """Take leave of the children that have ended; wait for one if there is any child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
