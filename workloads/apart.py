"""A user's code in a process of its own: the question, and the answer or the error.

For any code the caller gets checked JSON, or a ValueError of one line, within a deadline.
"""

import contextlib
import json
import math
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from workloads.lines import is_in, shown
from workloads.shapes import UnsuitableInputError

SECONDS_VARIABLE = "ORCHESTRATOR_WORKLOAD_SECONDS"
"""Variable with the seconds that a user's code may take for one answer: an import, a spec, a data set."""

GIGABYTES_VARIABLE = "ORCHESTRATOR_WORKLOAD_GIGABYTES"
"""Variable with the gigabytes of memory that its process may take."""

_LIMITS = {SECONDS_VARIABLE: ("workload_seconds", 60.0), GIGABYTES_VARIABLE: ("workload_gigabytes", 16.0)}
"""Variable -> its word on a command line, and the limit if neither is set."""

MOST_BYTES = 2**24
"""Limit of one answer: a network of 50,000 layers."""

CLOSED = os.EX_IOERR
"""Exit code of a process that cannot answer, for its code has closed the connection."""

Progress = Callable[[int, int | None], None]

_START_SECONDS = 120.0  # until the process has imported what is ours
_GRACE_SECONDS = 0.5  # beyond the deadline, in which the process notes where it is
_CLOSED_SECONDS = 2.0  # from the end of its connection to that of the process
_END_SECONDS = 10.0
_KEPT_OUTPUT = 4096  # the last bytes that were printed
_NOTED_BYTES = 2**20  # of where the code was
_MESSAGES: tuple[Mapping[str, tuple[type, ...]], ...] = (
    {"number": (int,), "given": (dict, list, type(None))},
    {"number": (int,), "refused": (str,), "is_unsuitable": (bool,)},
    {"number": (int,), "received": (int,), "in_all": (int, type(None))},
)
"""Kind of message -> its keys and their types."""

_START = """\
import sys, json
sys.path[:] = json.loads(sys.argv.pop(1))
from workloads.apart_guard import main
main(*map(int, sys.argv[1:4]), float(sys.argv[4]))
"""

_lock = threading.RLock()
_rooms: list["Room"] = []  # one at most
_answers: dict[str, Mapping[str, Any]] = {}


def ask(
    question: Mapping[str, Any], *, subject: str, folder: str | None, progress: Progress | None = None
) -> Any:
    """Ask a user's code a question and return the answer as plain values. Answers are cached until `close`.

    Args:
        subject: owner of the code, for the error.
        folder: folder of the code; None if unknown.
        progress: receives the progress of a download; the deadline restarts at each call.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ValueError: the code refuses, fails, or gives no answer.
    """
    question = {**question, "subject": subject, "folder": folder}
    try:
        request = json.dumps(question, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{subject}: an option is not a number, text or list of them: {error}") from error
    with _lock:
        if request not in _answers:
            _answers[request] = _answer(request, progress)
        answer = _answers[request]
    if "refused" not in answer:
        return answer["given"]
    kind = UnsuitableInputError if answer["is_unsuitable"] else ValueError
    raise kind(shown(answer["refused"]))


def close() -> None:
    """End the process and all that it started, and forget its answers."""
    with _lock:
        _answers.clear()
        _end_room()


def _answer(request: str, progress: Progress | None) -> Mapping[str, Any]:
    seconds, gigabytes = _limit(SECONDS_VARIABLE), _limit(GIGABYTES_VARIABLE)
    question = json.loads(request)
    try:
        if not _rooms:
            _rooms.append(Room(gigabytes=gigabytes))
        return _rooms[0].answer_to(question, seconds=seconds, progress=progress)
    except NoAnswerError as error:
        _end_room()
        return {"refused": f"{question['subject']}: {error}", "is_unsuitable": False}
    except BaseException:
        _end_room()
        raise


def _end_room() -> None:
    while _rooms:
        _rooms.pop().close()


def _limit(variable: str) -> float:
    """One of the two limits. Raises ValueError for a value that is none."""
    word, usual = _LIMITS[variable]
    setting = os.environ.get(variable) or str(usual)
    try:
        limit = float(setting)
    except ValueError:
        limit = math.nan
    if not 0 < limit <= 1e6:
        raise ValueError(f"{word}={shown(setting)} must be a number above 0 and at most 1,000,000")
    return limit


class NoAnswerError(Exception):
    """The code has not answered: where it was, and what became of it."""


class Room:
    """A process that waits for questions, behind a guard that ends all that it starts.

    Args:
        gigabytes: limit of its memory.
    """

    def __init__(self, *, gigabytes: float) -> None:
        self._number = 0
        self._received = bytearray()
        self._printed = b""
        self._faults = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        self._guard, guard = socket.socketpair()
        self._channel, channel = socket.socketpair()
        with guard, channel:
            descriptors = (guard.fileno(), channel.fileno(), self._faults.fileno())
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-c", _START, json.dumps(sys.path)),
                    *map(str, descriptors),
                    str(gigabytes),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=descriptors,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self._poll = select.poll()
        for descriptor in (self._channel.fileno(), self._guard.fileno(), self._output):
            self._poll.register(descriptor, select.POLLIN)

    def answer_to(
        self, question: Mapping[str, Any], *, seconds: float, progress: Progress | None
    ) -> Mapping[str, Any]:
        """Ask, and wait for the answer. Raises NoAnswerError; then only `close` is left to be done."""
        folder = question["folder"]
        if self._number == 0 and self._next(until=time.monotonic() + _START_SECONDS, folder=folder) is None:
            raise NoAnswerError(f"its process was not ready after {_START_SECONDS:g} s")
        self._number += 1
        request = {**question, "number": self._number, "seconds": seconds}
        with contextlib.suppress(OSError):  # it has ended, which is found out next
            self._channel.sendall(f"{json.dumps(request)}\n".encode())
        while True:
            message = self._next(until=time.monotonic() + seconds + _GRACE_SECONDS, folder=folder)
            if message is None:
                raise NoAnswerError(
                    f"{self._place(folder)}not done after {seconds:g} s; "
                    f"workload_seconds={10 * seconds:g} gives it longer"
                )
            if "received" not in message:
                return message
            if progress:
                progress(message["received"], message["in_all"])

    def close(self) -> None:
        """End the process and all that it started."""
        self._guard.close()
        self._channel.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._faults.close()

    def _next(self, *, until: float, folder: str | None) -> Mapping[str, Any] | None:
        """The next message; None when the monotonic clock reads `until`."""
        is_closed = False
        while b"\n" not in self._received:
            ready = {
                descriptor for descriptor, _ in self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
            }
            if self._channel.fileno() in ready:
                is_closed = self._receive()
                until = min(until, time.monotonic() + _CLOSED_SECONDS) if is_closed else until
            elif self._guard.fileno() in ready:
                raise NoAnswerError(f"{self._place(folder)}{self._how_it_ended()}")
            if self._output in ready:
                piece = os.read(self._output, 2**16)
                self._printed = (self._printed + piece)[-_KEPT_OUTPUT:]
                if not piece:
                    self._poll.unregister(self._output)
            if time.monotonic() >= until:
                if is_closed:
                    raise NoAnswerError(f"{self._place(folder)}it closed the connection to this command")
                return None
        line, _, self._received = self._received.partition(b"\n")
        return _find_message(line, number=self._number)

    def _receive(self) -> bool:
        """Read the bytes that have arrived, and return whether the stream has ended."""
        piece = b""
        with contextlib.suppress(OSError):
            piece = self._channel.recv(2**20)
        self._received += piece
        if len(self._received) > MOST_BYTES + 1:
            raise NoAnswerError(f"it said more than {MOST_BYTES:,} bytes at once")
        if not piece:
            self._poll.unregister(self._channel)
        return not piece

    def _how_it_ended(self) -> str:
        status = self._guard.recv(100)
        code = json.loads(status)["ended"] if status else -signal.SIGKILL
        if code == CLOSED:
            return "it closed the connection to this command"
        how = f"died of {_find_name(-code)}" if code < 0 else f"ended with exit code {code}"
        lines = [line for line in self._printed.decode(errors="replace").splitlines() if line.strip()]
        return f"its process {how}" + (f"; it printed last: {shown(lines[-1])}" if lines else "")

    def _place(self, folder: str | None) -> str:
        """The line of the code in `folder` at which it was noted last; empty where none was."""
        noted = os.pread(self._faults.fileno(), _NOTED_BYTES, 0).decode(errors="replace")
        mark = "Current thread" if "Current thread" in noted else "Thread 0x"  # the main one comes last
        places = re.findall(r'^  File "(.*)", line (\d+) in ', noted.rpartition(mark)[2], re.MULTILINE)
        written = (folder or "").encode("ascii", "backslashreplace").decode()
        inside = [f"{file}, line {line}: " for file, line in places if folder and is_in(written, file)]
        return shown(inside[0]) if inside else ""


def _find_message(line: bytes | bytearray, *, number: int) -> Mapping[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        message: Any = json.loads(line)
        if isinstance(message, dict) and message.get("number") == number:
            for kinds in _MESSAGES:
                if message.keys() == kinds.keys() and all(type(message[key]) in kinds[key] for key in kinds):
                    return message
    raise NoAnswerError("it said something else than an answer to this command")


def _find_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
