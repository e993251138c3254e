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
    """Limits of one child process.

    Attributes:
        seconds: time until it is killed.
        memory_bytes: resident memory beyond which it is killed.
    """

    seconds: float
    memory_bytes: int


class ChildError(Exception):
    """A child that gave no answer, in one line."""


def run_child(
    command: Sequence[str],
    *,
    request: str,
    variables: Mapping[str, str],
    folder: Path,
    limits: Limits,
    cwd: Path | None = None,
    is_enough: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Run a command and return the lines that it wrote.

    It is killed with SIGKILL when `is_enough`, and in the end in any case: libtpu answers SIGTERM with dumps.

    Args:
        folder: place of its output.
        cwd: folder that it runs in; None: `folder`, for a program that leaves files where it runs.

    Raises:
        ChildError: it did not start, took too long or too much memory, or was killed.
    """
    output = folder / "stdout"
    try:
        with output.open("w") as stdout, (folder / "stderr").open("w") as stderr:
            process = subprocess.Popen(
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
    assert process.stdin is not None
    try:
        process.stdin.write(f"{request}\n")
        process.stdin.flush()
        enough = _wait(process, limits, is_enough)
    except BrokenPipeError:
        enough = False
    finally:
        _kill(process)
    if process.returncode and not enough:
        raise ChildError(_describe_end(process.returncode, folder))
    return output.read_text().splitlines()


def _wait(process: "subprocess.Popen[str]", limits: Limits, is_enough: Callable[[], bool]) -> bool:
    """Wait for the end, and return whether the answer came before it. Raises ChildError."""
    deadline = time.monotonic() + limits.seconds
    more_time = f"compile.seconds={2 * limits.seconds:g}"
    while process.poll() is None:
        if is_enough():
            return True
        if time.monotonic() > deadline:
            raise ChildError(f"it took longer than {limits.seconds:g} s; {more_time} gives it more")
        if _resident_bytes(process.pid) > limits.memory_bytes:
            raise ChildError(f"it took more than {limits.memory_bytes / 2**30:.0f} GiB of this host's memory")
        time.sleep(_POLL_SECONDS)
    return False


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):  # it has just ended
        return 0


def _kill(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def _describe_end(code: int, folder: Path) -> str:
    lines = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    if code < 0:
        return f"it was killed by signal {-code}"
    return lines[-1][:200] if lines else f"it ended with code {code}"
