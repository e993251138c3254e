"""Child processes: their code, their answers and their end."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import orchestrator
import workloads


def end(process: "subprocess.Popen[str]", *, seconds: float) -> None:
    """Close its standard input, and kill it if it has not ended so many seconds later."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def link_code(folder: Path) -> None:
    """Make `folder` one that a PYTHONPATH can name: it holds links to our packages and nothing else."""
    folder.mkdir()
    for package in (orchestrator, workloads):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        (folder / source.name).symlink_to(source)


def find_answer(command: list[str], variables: Mapping[str, str], *, seconds: float) -> bytes:
    """Return a command's output, and end every process that it started when its time is over.

    It prints less than a pipe holds: one that prints more waits for a reader, and does not answer in time.

    Raises:
        OSError: the command cannot be started; TimeoutError if it does not end in time.
        CalledProcessError: it failed.
    """
    with subprocess.Popen(
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that it leads a group
    ) as process:
        assert process.stdout is not None
        try:
            _wait_for_end(process.pid, seconds=seconds)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # until it is reaped no other process can have its id
        if code := process.wait():
            raise subprocess.CalledProcessError(code, command)
        os.set_blocking(process.stdout.fileno(), False)  # a process that left the group may hold its end
        return process.stdout.read() or b""


def _wait_for_end(pid: int, *, seconds: float) -> None:
    """Wait until a child has ended, without reaping it. Raises TimeoutError."""
    descriptor = os.pidfd_open(pid)
    try:
        if not select.select([descriptor], [], [], seconds)[0]:
            raise TimeoutError
    finally:
        os.close(descriptor)
