"""One driver at a time: a lock that ends with the process that holds it, however that process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.errors import RecordError


@contextmanager
def exclusive(path: Path, *, sweep: str) -> Iterator[None]:
    """Hold `path`, a file that tells the process id of its last holder.

    Raises:
        RecordError: another process holds it.
        OSError: the file cannot be written.
    """
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = path.read_text() or "that has just begun"
            raise RecordError(
                f"sweep {sweep!r} is being run by process {holder}; wait for it or end it"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
