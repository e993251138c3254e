"""The guard of a training script: it starts the script, and ends all that came of it.

The guard leads a session of its own, so that it outlives the kill of the worker's process group. Its standard
input ends however the worker dies. It ends as the script does: with its exit code, or by its signal. Before
that it writes what the script took, as JSON: `seconds` from its start to its end, and `peak_host_bytes` of
the largest of its processes.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from workloads.family import end_descendants, keep_orphans

NOT_FOUND = 127
"""Exit code of a command that cannot be started, as in shells."""


def main(descriptor: int, words: Sequence[str]) -> NoReturn:
    """Run the command until it ends or standard input does; end all processes that came of it.

    Args:
        descriptor: where to write what the script took.
    """
    keep_orphans()
    began = time.perf_counter()
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"{words[0]} cannot be started: {error.strerror}\n")
        sys.exit(NOT_FOUND)
    pidfd = os.pidfd_open(process.pid)
    ended, _, _ = select.select([pidfd, sys.stdin], [], [])
    seconds = time.perf_counter() - began
    code = process.wait() if pidfd in ended else 0
    end_descendants()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_host_bytes": 1024 * used.ru_maxrss,
    }
    with os.fdopen(descriptor, "w") as pipe:
        json.dump(took, pipe)
    if code < 0:
        _die_by_signal(-code)
    sys.exit(code)


def _die_by_signal(number: int) -> None:
    """End this process by a signal, without a core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":  # python -m orchestrator.extensions.scripts.guard DESCRIPTOR WORD…
    main(int(sys.argv[1]), sys.argv[2:])
