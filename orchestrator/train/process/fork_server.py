"""A process that has imported a framework and nothing else, and forks a fresh worker for every request.

It listens on a local socket in a folder of its own. A request is one connection: the server checks its
token, starts the worker, sends its process id, and from then on only watches; the worker talks over that
connection. When the other end closes, the worker's process group is killed. When the worker ends, its exit
status is the last message. When the server's owner dies, its standard input ends, and with it every worker.
"""

import contextlib
import faulthandler
import importlib
import json
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from orchestrator.train.process.channel import Channel, ChannelClosedError, Message
from orchestrator.train.process.signals import die_with_parent

_REQUEST_SECONDS = 5.0  # a peer that connects and says nothing is dropped after this


def main(path: str, modules: list[str]) -> int:
    """Import `modules`, listen at `path`, print `ready`, serve until standard input ends."""
    faulthandler.enable()  # a worker that crashes leaves the line of its code in its log
    token = sys.stdin.readline().strip()
    ready = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints when it is imported belongs in the log
    for name in modules:  # one that a framework's version lacks costs its worker a moment, no more
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        with ready:
            ready.write("ready\n")
        ForkServer(listener, token=token).serve(until_closed=sys.stdin.fileno())
    return 0


@dataclass(frozen=True, slots=True)
class _Child:
    """Worker process, with the server's copy of its connection."""

    pid: int
    pidfd: int
    connection: socket.socket


class ForkServer:
    """Server of requests for workers, one after the other, which ends every worker without an owner."""

    def __init__(self, listener: socket.socket, *, token: str) -> None:
        self._listener = listener
        self._token = token
        self._threads = _num_threads()
        self._poll = select.poll()
        self._by_pidfd: dict[int, _Child] = {}
        self._by_connection: dict[int, _Child] = {}

    def serve(self, *, until_closed: int) -> None:
        """Answer requests until the descriptor `until_closed` reads its end, then kill every worker."""
        self._poll.register(until_closed, select.POLLIN | select.POLLHUP)
        self._poll.register(self._listener, select.POLLIN)
        try:
            # one event a round: it may close the descriptor of the next
            while (descriptor := self._poll.poll()[0][0]) != until_closed:
                if descriptor == self._listener.fileno():
                    self._accept()
                elif descriptor in self._by_pidfd:
                    self._bury(self._by_pidfd[descriptor])
                else:
                    _kill(self._by_connection[descriptor])
                    self._poll.unregister(descriptor)
        finally:
            for child in self._by_pidfd.values():
                _kill(child)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        channel = Channel(connection)
        try:
            connection.settimeout(_REQUEST_SECONDS)
            request = self._build_request(connection, channel)
            connection.settimeout(None)
            pid = self._start(request, connection)
            self._watch(_Child(pid, os.pidfd_open(pid), connection))
            channel.send({"event": "started", "pid": pid})
        except (ChannelClosedError, OSError, ValueError, KeyError, RuntimeError) as error:
            with contextlib.suppress(ChannelClosedError):
                channel.send({"event": "refused", "message": str(error)})
            if connection.fileno() not in self._by_connection:
                connection.close()

    def _build_request(self, connection: socket.socket, channel: Channel) -> Message:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", credentials)
        if uid != os.getuid():
            raise ValueError(f"user {uid} contacts a fork server of user {os.getuid()}")
        request = channel.receive()
        if not isinstance(request, dict):
            raise ValueError("a request is an object")
        if not secrets.compare_digest(str(request.get("token")).encode(), self._token.encode()):
            raise ValueError("wrong token")
        return request

    def _start(self, request: Message, connection: socket.socket) -> int:
        """Start a worker and return its process id. A forked one cleans up, trains and exits in here."""
        if request["start_method"] == "spawn":
            return _spawn(request, connection)
        if _num_threads() > self._threads:
            raise RuntimeError(
                f"the fork server has {_num_threads()} threads; it had {self._threads} at its start"
            )
        server_pid = os.getpid()
        if pid := os.fork():
            return pid
        code = 1
        try:
            os.setsid()
            die_with_parent(server_pid)
            self._listener.close()
            for child in self._by_pidfd.values():
                child.connection.close()
                os.close(child.pidfd)
            _redirect(request["log"])
            os.environ.update(request["variables"])
            worker = importlib.import_module("orchestrator.train.worker")
            code = worker.main(connection)
        except BaseException:  # noqa: BLE001  # no caller catches it, and `os._exit` prints nothing
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _watch(self, child: _Child) -> None:
        self._by_pidfd[child.pidfd] = child
        self._by_connection[child.connection.fileno()] = child
        self._poll.register(child.pidfd, select.POLLIN)
        self._poll.register(child.connection, select.POLLRDHUP)  # never POLLIN: what arrives is the worker's

    def _bury(self, child: _Child) -> None:
        """Reap an ended worker, end what it left behind, and send its exit status (negative: the signal)."""
        _kill(child)  # before it is reaped, for until then no other process can have its id
        _, status = os.waitpid(child.pid, 0)
        with contextlib.suppress(ChannelClosedError):
            Channel(child.connection).send({"event": "exited", "code": os.waitstatus_to_exitcode(status)})
        with contextlib.suppress(KeyError):  # its connection may have been closed, and unregistered, first
            self._poll.unregister(child.connection)
        self._poll.unregister(child.pidfd)
        del self._by_pidfd[child.pidfd], self._by_connection[child.connection.fileno()]
        os.close(child.pidfd)
        child.connection.close()


def _spawn(request: Message, connection: socket.socket) -> int:
    """Start a new interpreter for the worker, with the connection as an inherited descriptor."""
    descriptor = connection.fileno()
    with Path(request["log"]).open("ab") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-X",
                "faulthandler",
                "-m",
                "orchestrator.train.worker",
                str(descriptor),
                str(os.getpid()),
            ],
            env={**os.environ, **request["variables"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(descriptor,),
            start_new_session=True,
        )
    process.returncode = 0  # the server reaps it through its pidfd; Popen must not
    return process.pid


def _redirect(log: str) -> None:
    """Standard input from nowhere, standard output and error to the trial's log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(nowhere)
    os.close(descriptor)


def _kill(child: _Child) -> None:
    """End a worker and all that it started; one that was only just forked leads no group yet."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _num_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
