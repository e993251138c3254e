"""The processes that a test has started: known by a variable that all inherit, never by their names."""

import contextlib
import os
import select
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

_VARIABLE = "ORCHESTRATOR_TEST_FAMILY"


class Family:
    """Every living process that was started by this one, or by one of them, since the mark was set."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def pids(self) -> set[int]:
        """All of them but this one; a process that has ended and was not waited for does not live."""
        return {
            process.pid
            for process in psutil.process_iter()
            if process.pid != os.getpid() and self._has(process)
        }

    def workers(self) -> set[int]:
        """The processes that fork servers have forked."""
        commands = {pid: command_of(pid) for pid in self.pids()}
        fork_servers = {
            pid for pid, command in commands.items() if "orchestrator.train.process.fork_server" in command
        }
        return {pid for pid in fork_servers if psutil.Process(pid).ppid() in fork_servers}

    def wait_until_gone(self, *, but: set[int] = frozenset(), seconds: float = 10.0) -> None:
        """Wait until none is left, or none but those named; fails with the command lines of the others."""
        until = time.monotonic() + seconds
        while left := self.pids() - but:
            if not all(has_ended(pid, seconds=until - time.monotonic()) for pid in left):
                pytest.fail(f"still alive: {[command_of(pid) for pid in self.pids() - but]}")

    def wait_until_there_are(self, count: int, *, seconds: float = 10.0) -> None:
        """Wait until so many live: while one changes its program, it has no variables for a moment."""
        until = time.monotonic() + seconds
        while len(self.pids()) != count:
            if time.monotonic() > until:
                pytest.fail(f"not {count} processes: {[command_of(pid) for pid in self.pids()]}")
            time.sleep(0.01)

    def _has(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile, or belongs to somebody else
            return process.environ().get(_VARIABLE) == self._mark
        return False


@contextlib.contextmanager
def family(monkeypatch: pytest.MonkeyPatch) -> Iterator[Family]:
    """Mark this process, whose children inherit the mark; at the end none of them may be left."""
    started = Family(uuid.uuid4().hex)
    monkeypatch.setenv(_VARIABLE, started._mark)
    yield started
    started.wait_until_gone()


def heeds_sigterm(pid: int) -> bool:
    """Return whether a process has a handler of SIGTERM, read from the kernel."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (caught,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def has_ended(pid: int, *, seconds: float = 10.0) -> bool:
    """Return whether a process ends within that many seconds, by its pidfd."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], max(0.0, seconds))[0])
    finally:
        os.close(descriptor)


def command_of(pid: int) -> str:
    """The command line of a process, or that it has none any more."""
    with contextlib.suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline())
    return f"{pid}, which has ended meanwhile"
