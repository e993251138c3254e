"""Ends the driver when the head of its cluster is gone, as nothing else can.

ray 2.60 waits for a head in calls that no signal and no exception interrupts, and ends the process after a
minute with words of its own. Whatever ends a driver, its records are kept, and what it has started ends too.
"""

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator

_EVERY_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_LOST_SECONDS = 20.0  # a head that is started anew and keeps its state elsewhere takes some
_NO_RESULT = 1
"""Exit code of a command whose trials have no result."""


@contextlib.contextmanager
def head_monitor(address: str) -> Iterator[None]:
    """Ask the head at HOST:PORT beside everything else. When it is gone this process says so, and ends."""
    ended = threading.Event()
    threading.Thread(target=_watch, args=(address, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(address: str, ended: threading.Event) -> None:
    host, _, port = address.rpartition(":")
    answered = time.monotonic()
    while not ended.wait(_EVERY_SECONDS):
        with contextlib.suppress(OSError):
            socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
            answered = time.monotonic()
        if time.monotonic() - answered > _LOST_SECONDS and not ended.is_set():
            sys.stderr.write(
                f"\nerror: the head of the cluster at {address} is gone; finished trials are kept, and the "
                f"same command runs the rest on a cluster that answers\n"
            )
            sys.stderr.flush()
            os._exit(_NO_RESULT)
