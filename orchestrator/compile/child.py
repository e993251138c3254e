"""A child process with a deadline and a limit of memory; its whole process group is killed at the end."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a child process.

    Attributes:
        seconds: time of one answer, after which it is killed.
        memory_bytes: resident memory beyond which it is killed.
    """

    seconds: float
    memory_bytes: int


class ChildError(Exception):
    """A child that gave no answer, in one line."""


class ChildProcess:
    """A child process that answers requests, each with lines of its standard output.

    It is killed with SIGKILL at the end: libtpu answers SIGTERM with dumps.

    Args:
        folder: place of its output.
        cwd: folder that it runs in; None: `folder`, for a program that leaves files where it runs.

    Raises:
        ChildError: it did not start.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        variables: Mapping[str, str],
        folder: Path,
        limits: Limits,
        cwd: Path | None = None,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._output = folder / "stdout"
        try:
            with self._output.open("w") as stdout, (folder / "stderr").open("w") as stderr:
                self._process = subprocess.Popen(
                    command,
                    env=variables,
                    cwd=cwd or folder,
                    stdin=subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
                    text=True,
                    start_new_session=True,  # so that it leads a group
                )
        except OSError as error:
            raise ChildError(f"{command[0]}: {error.strerror}") from error

    @property
    def is_alive(self) -> bool:
        """True while it can be asked."""
        return self._process.poll() is None

    def ask(self, request: str, *, is_enough: Callable[[Sequence[str]], bool]) -> list[str]:
        """Return the lines that it writes after a request, until they are enough or it ends.

        Raises:
            ChildError: it took too long or too much memory, or was killed; it is closed then.
        """
        written = self._output.stat().st_size
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
            answered = self._wait(lambda: is_enough(self._read_lines(written)))
        except BrokenPipeError:
            answered = False
        except ChildError:
            self.close()
            raise
        if not answered:
            self.close()
            if self._process.returncode:
                raise ChildError(_describe_end(self._process.returncode, self._folder))
        return self._read_lines(written)

    def close(self) -> None:
        """Kill it and all that it started."""
        assert self._process.stdin is not None
        if self._process.stdin.closed:  # once only: later the group's id may be another's
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _read_lines(self, start: int) -> list[str]:
        """Read the whole lines from a byte on; the last one also without its end, once the process ended."""
        text = self._output.read_bytes()[start:].decode(errors="replace")
        whole = text if self._process.returncode is not None else text[: text.rfind("\n") + 1]
        return whole.splitlines()

    def _wait(self, is_enough: Callable[[], bool]) -> bool:
        """Wait for the end, and return whether the answer came before it. Raises ChildError."""
        seconds, most_bytes = self._limits.seconds, self._limits.memory_bytes
        deadline, more_time = time.monotonic() + seconds, f"compile.seconds={2 * seconds:g}"
        while self._process.poll() is None:
            if is_enough():
                return True
            if time.monotonic() > deadline:
                raise ChildError(f"it took longer than {seconds:g} s; {more_time} gives it more")
            if _resident_bytes(self._process.pid) > most_bytes:
                raise ChildError(f"it took more than {most_bytes / 2**30:.0f} GiB of this host's memory")
            time.sleep(_POLL_SECONDS)
        return False


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):  # it has just ended
        return 0


def _describe_end(code: int, folder: Path) -> str:
    lines = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    if code < 0:
        return f"it was killed by signal {-code}"
    return lines[-1][:200] if lines else f"it ended with code {code}"
