"""The guard of a process that runs a user's code: it ends all that came of it when either side is gone.

The kernel closes the owner's socket however the owner dies. The user's code cannot reach that socket.
"""

import contextlib
import json
import os
import resource
import select
import socket

from workloads.family import die_with_parent, end_descendants, keep_orphans


def main(owner: int, channel: int, faults: int, gigabytes: float) -> None:
    """Start the process that answers, wait for its end or the owner's, send its exit code, end all children.

    Args:
        owner, channel: descriptors of sockets: of this process, and of the one that answers.
        faults: descriptor of a file for the place in the code where it stops.
        gigabytes: limit of its memory.
    """
    keep_orphans()
    pid = os.fork()
    if pid == 0:
        os.close(owner)
        _answer(channel, faults, gigabytes)
    os.close(channel)
    with socket.socket(fileno=owner) as connection:
        pidfd = os.pidfd_open(pid)
        if pidfd in select.select([connection.fileno(), pidfd], [], [])[0]:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with contextlib.suppress(OSError):  # the owner has gone meanwhile
                connection.sendall(json.dumps({"ended": code}).encode())
        end_descendants()


def _answer(channel: int, faults: int, gigabytes: float) -> None:
    """Become the process that answers: without a terminal, core dumps or more memory; it never returns."""
    try:
        os.setsid()
        die_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        size = int(gigabytes * 1e9)
        size = size if most == resource.RLIM_INFINITY else min(size, most)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        from workloads.apart_answers import serve

        serve(socket.socket(fileno=channel), faults)
    finally:
        os._exit(1)
