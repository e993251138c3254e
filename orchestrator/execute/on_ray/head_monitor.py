"""Ends the driver when its Ray is gone, as nothing else can: the head of its cluster, or an embedded raylet.

ray 2.60 waits for a head in calls that no signal and no exception interrupts, and ends the process after a
minute with words of its own. At any end of a driver its records are kept, and what it has started ends too.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NoReturn

from orchestrator.execute.on_ray.ray_internals import list_embedded_processes

_EVERY_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_LOST_SECONDS = 20.0  # a head that is started anew and keeps its state elsewhere takes some
_NO_RESULT = 1
"""Exit code of a command with trials without a result."""


@contextlib.contextmanager
def head_monitor(address: str) -> Iterator[None]:
    """Poll the head at HOST:PORT in the background. When it is gone this process prints that, and ends."""
    ended = threading.Event()
    threading.Thread(target=_watch, args=(address, list_embedded_processes(), ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(address: str, processes: "Mapping[str, subprocess.Popen[bytes]]", ended: threading.Event) -> None:
    host, _, port = address.rpartition(":")
    answered = time.monotonic()
    while not ended.wait(_EVERY_SECONDS):
        gone = [kind for kind, process in processes.items() if process.poll() is not None]
        if gone and not ended.is_set():
            _end(f"Ray's {gone[0]} was killed or has crashed", rest="runs the rest")
        with contextlib.suppress(OSError):
            socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
            answered = time.monotonic()
        if time.monotonic() - answered > _LOST_SECONDS and not ended.is_set():
            _end(
                f"the head of the cluster at {address} is gone",
                rest="runs the rest on a cluster that answers",
            )


def _end(cause: str, *, rest: str) -> NoReturn:
    sys.stderr.write(f"\nerror: {cause}; finished trials are kept, and the same command {rest}\n")
    sys.stderr.flush()
    os._exit(_NO_RESULT)
