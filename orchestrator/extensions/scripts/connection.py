"""The process of a training script, its reports and its failure, as the worker that started it sees them."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from orchestrator.core.errors import FailureKind, TrialError
from orchestrator.extensions.scripts.guard import NOT_FOUND
from orchestrator.extensions.scripts.variables import RENDEZVOUS, ScriptVariables
from orchestrator.train.failures import kind_of_line
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.process.temp_dirs import temporary_folder
from workloads.family import end_descendants, keep_orphans
from workloads.script.command import find_code_folders

ADDRESS_VARIABLE = "ORCHESTRATOR_CALLBACK"
FOLDERS_VARIABLE = "ORCHESTRATOR_FOLDERS"
_POLL_SECONDS = 0.2
_LEAVE_SECONDS = 20.0  # from the order to stop until the script must have ended
_MOST_BYTES = 2**20  # of one message
_MOST_WHY = 300  # letters
_TWO_PROCESSES = (
    "two processes of one worker report steps; the command is started once for every worker, so leave out "
    "what starts several, as torchrun --nproc_per_node=2"
)
_CREDENTIALS = struct.Struct("3i")  # `struct ucred`: process, user, group
_GUARD = "orchestrator.extensions.scripts.guard"
_TRACEBACK = "Traceback (most recent call last):"
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit codes of a killed process: of the command itself, or of a shell that the command started."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")
_RANK = re.compile(r"^\[rank\d+\]: ?")  # torch.distributed begins the lines of a traceback so
MOST_KEPT_BYTES = 2**20
"""So much of the beginning is kept, and so much of the end."""
_LATE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A script that ended with exit code 0 and reported no step.

    Attributes:
        seconds: from its start to its end.
        cpu_seconds: of its processes that have ended by then.
        peak_host_bytes: largest resident set of its processes.
    """

    seconds: float
    cpu_seconds: float
    peak_host_bytes: int

    def build_times(self, *, load_average: tuple[float, float]) -> LoopTimes:
        """Return the times of the run as a whole, in which no step has one.

        Args:
            load_average: one-minute load average of the host before and after the run.
        """
        return LoopTimes(
            stopped_because="run",
            training_seconds=self.seconds,
            cpu_seconds=self.cpu_seconds,
            load_average=load_average,
            run_seconds=self.seconds,
        )


class Script:
    """A started script, and the connection that its callback opens at its first step.

    All that comes of the script ends with `close` or with this process, daemons included: a guard sees to it.

    Attributes:
        reporter: process ID of the one that reports steps; 0: none has yet.

    Args:
        words: command line.
        folder: working directory.
        variables: its environment; the address of the socket is added.
    """

    def __init__(self, words: list[str], *, folder: str, variables: ScriptVariables) -> None:
        keep_orphans()
        self._variables = variables
        self._room = contextlib.ExitStack()
        address = str(self._room.enter_context(temporary_folder("orchestrator-")) / "callback")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(1)
        self._output, self._errors = BoundedOutput(copy_to=1), BoundedOutput()
        self._connection: socket.socket | None = None
        self.reporter = 0
        self._received = b""
        self._guard_output, guard_input = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _GUARD, str(guard_input), *words],
            cwd=folder,
            env={
                **variables.passed,
                ADDRESS_VARIABLE: address,
                FOLDERS_VARIABLE: os.pathsep.join(map(str, find_code_folders(words, Path(folder)))),
            },
            stdin=subprocess.PIPE,
            stdout=self._output.descriptor,
            stderr=self._errors.descriptor,
            pass_fds=(guard_input,),
            start_new_session=True,
        )
        os.close(guard_input)
        self._output.start()
        self._errors.start()

    def wait_for_first_step(self) -> WholeRun | None:
        """Wait until the callback connects; return the run of a script that ended without.

        Raises:
            TrialError: the script failed.
        """
        ended = os.pidfd_open(self._process.pid)
        try:
            ready, _, _ = select.select([self._listener.fileno(), ended], [], [])
        finally:
            os.close(ended)
        if self._listener.fileno() in ready:
            self._connection, _ = self._listener.accept()
            credentials = self._connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
            )
            self.reporter, _, _ = _CREDENTIALS.unpack(credentials)
            return None
        self._process.wait()
        self._require_success()
        with os.fdopen(os.dup(self._guard_output)) as pipe:
            return WholeRun(**json.load(pipe))

    def read_message(self) -> Mapping[str, Any]:
        """Return the next message of the script.

        Raises:
            TrialError: the script has ended, reports that its rate is unknown, or sends no valid message.
        """
        assert self._connection is not None, "the script has connected"
        while b"\n" not in self._received:
            ready = select.select([self._connection, self._listener], [], [], _POLL_SECONDS)[0]
            if self._listener in ready:
                raise TrialError("invalid_measurement", _TWO_PROCESSES)
            if not ready:
                continue
            piece = self._connection.recv(2**16)
            if not piece:
                self._wait(_LEAVE_SECONDS)
                self._require_success()
                raise TrialError(
                    "invalid_measurement",
                    "the script ended before all steps of the trial; let it take more optimizer steps, or "
                    "give a smaller steps= (by default a measurement takes at least 64)",
                )
            self._received += piece
            if len(self._received) > _MOST_BYTES:
                raise TrialError(
                    "invalid_measurement", f"the script said more than {_MOST_BYTES:,} bytes at once"
                )
        line, _, self._received = self._received.partition(b"\n")
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and message.get("event") != "refused":
                return message
            if isinstance(message, dict):
                raise TrialError("invalid_measurement", str(message.get("why"))[:_MOST_WHY])
        raise TrialError(
            "invalid_measurement", "the script said something else than a message of the callback"
        )

    def order(self, order: Mapping[str, Any]) -> None:
        """Answer the script's last message; its end is noticed at the next read."""
        assert self._connection is not None, "the script has connected"
        with contextlib.suppress(OSError):
            self._connection.sendall(f"{json.dumps(order)}\n".encode())

    def finish(self, *, trains_to_end: bool) -> TrialError | None:
        """Let a script that reports steps stop, or train to its end; one that does not stop is ended.

        Return how it failed after the order to stop; None if it ended without an error, or not in time.

        Raises:
            TrialError: a script that was to train to its end failed.
        """
        if self._connection is None:
            return None
        self.order({"order": "free" if trains_to_end else "stop"})
        if trains_to_end:
            self._process.wait()
            self._require_success()
        else:
            self._wait(_LEAVE_SECONDS)
        return self._find_failure()

    def close(self) -> None:
        """End all that came of the script, and write its standard error to the log."""
        assert self._process.stdin is not None, "the guard listens"
        self._process.stdin.close()
        self._wait(_LEAVE_SECONDS)
        end_descendants()  # a guard that was killed has ended nothing
        self._output.close()
        sys.stderr.write(self._errors.text())
        sys.stderr.flush()
        os.close(self._guard_output)
        if self._connection is not None:
            self._connection.close()
        self._listener.close()
        self._room.close()

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _require_success(self) -> None:
        if failure := self._find_failure():
            raise failure

    def _find_failure(self) -> TrialError | None:
        return failure_in(self._process.poll() or 0, self._errors.text(), variables=self._variables)


def failure_in(code: int, standard_error: str, *, variables: ScriptVariables) -> TrialError | None:
    """Return the failure of a script that has ended; None for exit code 0.

    Args:
        code: as in `subprocess`, negative for a signal.
        variables: its environment.
    """
    if code == 0:
        return None
    cause = cause_in(standard_error)
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    hint = hint_for(cause, variables)
    return TrialError(_classify_kind(code, cause), f"the script {how}{f': {cause}' if cause else ''}{hint}")


def hint_for(cause: str, variables: ScriptVariables) -> str:
    """Return what to write where the cause names a variable that the script did not get; empty otherwise."""
    named = set(_VARIABLE.findall(cause)) - variables.passed.keys()
    if named & set(RENDEZVOUS):
        return (
            "; a trial with one worker sets no ranks, as a run of your own: start a script that needs them "
            "by torchrun --standalone --nproc_per_node=1"
        )
    missing = sorted(named & set(variables.left_out))
    return (
        f"; a scheduler's variable is not passed on: write env {missing[0]}=… into the command"
        if missing
        else ""
    )


def cause_in(standard_error: str) -> str:
    """Return the line of the exception that ended a Python script; without a traceback the last line.

    Frameworks write warnings at their exit, after the traceback.
    """
    lines = [_RANK.sub("", line).rstrip() for line in standard_error.splitlines()]
    filled = [line for line in lines if line]
    if _TRACEBACK not in filled:
        return filled[-1].strip() if filled else ""
    last = len(filled) - 1 - filled[::-1].index(_TRACEBACK)
    return next((line for line in filled[last + 1 :] if not line[0].isspace()), filled[-1].strip())


def _classify_kind(code: int, cause: str) -> FailureKind:
    if code == NOT_FOUND:
        return "environment"
    return "worker_lost" if code in _KILLED else kind_of_line(cause)


class BoundedOutput:
    """A pipe for the output of a process: its first and its last MiB.

    Args:
        copy_to: a descriptor that gets the beginning at once, and the rest at `close`; None: it gets nothing.
    """

    def __init__(self, *, copy_to: int | None = None) -> None:
        self._read, self.descriptor = os.pipe()
        """The process inherits `descriptor`."""
        self._copy_to = copy_to
        self._head = bytearray()
        self._tail = bytearray()
        self._num_left_out = 0
        self._thread = Thread(target=self._drain, daemon=True)

    def start(self) -> None:
        """Close this process' end of the pipe, which others have inherited by now, and read the other end."""
        os.close(self.descriptor)
        self._thread.start()

    def text(self) -> str:
        """Return what was written so far: all of it, unless a process holds the pipe open for a second."""
        self._thread.join(_LATE_SECONDS)
        return (self._head + self._rest()).decode(errors="replace")

    def close(self) -> None:
        """Copy the rest. The processes that wrote have ended."""
        self._thread.join(_LATE_SECONDS)
        if self._copy_to is not None:
            _write(self._copy_to, self._rest())

    def _rest(self) -> bytes:
        excess = max(0, len(self._tail) - MOST_KEPT_BYTES)
        num_left_out = self._num_left_out + excess
        mark = f"\n… {num_left_out:,} bytes left out …\n".encode() if num_left_out else b""
        return mark + bytes(self._tail[excess:])

    def _drain(self) -> None:
        while piece := os.read(self._read, 2**16):
            room = MOST_KEPT_BYTES - len(self._head)
            self._head += piece[:room]
            if self._copy_to is not None:
                _write(self._copy_to, piece[:room])
            self._tail += piece[room:]
            if len(self._tail) > 2 * MOST_KEPT_BYTES:  # rarely, because it moves a MiB
                self._num_left_out += len(self._tail) - MOST_KEPT_BYTES
                del self._tail[:-MOST_KEPT_BYTES]
        os.close(self._read)


def _write(descriptor: int, content: bytes) -> None:
    with contextlib.suppress(OSError):  # a full disk; the process must not wait for its reader
        while content:
            content = content[os.write(descriptor, content) :]
