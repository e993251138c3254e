"""One at a time: locks that end with the process that holds them, however that process ends."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from orchestrator.core.errors import RecordError
from workloads.data.files import require_regular

_BETWEEN_LOOKS_SECONDS = 0.2


@contextmanager
def exclusive_lock(path: Path, *, sweep: str) -> Iterator[None]:
    """Hold `path`, a file with the process id of its last holder.

    Raises:
        RecordError: another process holds it.
        OSError: the file cannot be written.
    """
    with _opened(path) as file:
        if not _took(file):
            holder = path.read_text() or "that has just begun"
            raise RecordError(f"sweep {sweep!r} is run by process {holder}; wait for it or end it")
        _sign(file, str(os.getpid()))
        yield


def lock_holder(path: Path) -> str | None:
    """Return the holder of `path`, a lock taken by `exclusive_lock`: `process 4711`; None if it is free."""
    try:
        require_regular(path)
        file = path.open()
    except OSError:  # it was never taken
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"process {file.read() or '(that has just begun)'}"
    return None


@contextmanager
def wait_for_host_lock(
    path: Path, *, sweep: str, on_message: Callable[[str], None], is_wanted: Callable[[], bool]
) -> Iterator[bool]:
    """Hold `path`, and wait for that as long as others do; yields whether it is held.

    Args:
        on_message: prints once which process holds the lock.
        is_wanted: asked while it waits; when it is not, it is not waited for.

    Raises:
        RecordError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _opened(path)
    except OSError as error:
        raise RecordError(f"lock {str(path)!r} cannot be taken: {error.strerror}") from error
    with file:
        is_held = _took(file)
        if not is_held:
            holder = path.read_text() or "another sweep"
            on_message(
                f"waiting for {holder}: on one host two sweeps would disturb each other's measurements"
            )
        while not is_held and is_wanted():
            time.sleep(_BETWEEN_LOOKS_SECONDS)
            is_held = _took(file)
        if is_held:
            _sign(file, f"sweep {sweep!r}, run by process {os.getpid()}")
        yield is_held


def _opened(path: Path) -> TextIO:
    if path.exists():
        require_regular(path)
    return path.open("a+")


def _took(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(file: TextIO, text: str) -> None:
    """Write the holder into the file."""
    file.truncate(0)
    file.write(text)
    file.flush()
