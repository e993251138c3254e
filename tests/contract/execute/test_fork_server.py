"""A real fork server whose workers do what a test asks of them over their connection."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import process_tracking
import pytest

from orchestrator.train.process.channel import Channel, ChannelClosedError

_TOKEN = "correct horse"
_OBEDIENT = """
import os, signal, socket, subprocess, sys, threading
from orchestrator.train.process.channel import Channel

def main(connection):
    channel = Channel(connection)
    while True:
        order = channel.receive()
        match order["do"]:
            case "describe":
                sockets = [each for each in os.listdir("/proc/self/fd") if _is_socket(int(each))]
                channel.send({
                    "pid": os.getpid(),
                    "parent": os.getppid(),
                    "session": os.getsid(0),
                    "sockets": len(sockets),
                    "variable": os.environ.get("COLOUR"),
                    "input": sys.stdin.read(),
                })
            case "print":
                print(order["text"])
                print(order["text"].upper(), file=sys.stderr)
                channel.send({})
            case "start a child":
                channel.send({"pid": subprocess.Popen(["sleep", "600"]).pid})
            case "leave":
                return order["code"]
            case "raise":
                raise RuntimeError("broken inside")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)

def _is_socket(descriptor):
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    except OSError:
        return False

def grow(*_):
    threading.Thread(target=threading.Event().wait, daemon=True).start()

signal.signal(signal.SIGUSR1, grow)
sys.modules["orchestrator.train.worker"] = sys.modules[__name__]
"""


@pytest.fixture(autouse=True)
def family(monkeypatch):
    with process_tracking.family(monkeypatch) as started:
        yield started


class StartedForkServer:
    """A fork server that was started for a test, and the connections made to it."""

    def __init__(self, process: "subprocess.Popen[str]", path: Path) -> None:
        self.process = process
        self._path = path
        self._open = contextlib.ExitStack()

    def connect(self) -> Channel:
        connection = self._open.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.settimeout(10.0)
        connection.connect(str(self._path))
        return Channel(connection)

    def ask(self, **changes) -> Channel:
        """Send a request; its answer is not read yet."""
        log = str(self._path.with_name("log"))
        channel = self.connect()
        channel.send({"token": _TOKEN, "start_method": "fork", "log": log, "variables": {}, **changes})
        return channel

    def worker(self, **changes) -> tuple[Channel, int]:
        """A new worker: its connection and its process id."""
        channel = self.ask(**changes)
        reply = channel.receive()
        assert reply["event"] == "started", reply
        return channel, reply["pid"]

    def end(self) -> None:
        self._open.close()
        self.process.stdin.close()
        self.process.wait(10.0)
        self.process.stdout.close()


@pytest.fixture
def fork_server(tmp_path, family):
    (tmp_path / "obedient.py").write_text(_OBEDIENT)
    path = tmp_path / "fork_server"
    command = [
        sys.executable,
        "-P",
        "-m",
        "orchestrator.train.process.fork_server",
        str(path),
        json.dumps(["obedient"]),
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    started = StartedForkServer(process, path)
    try:
        process.stdin.write(_TOKEN + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        started.end()


def told(channel: Channel, do: str, **details) -> dict:
    channel.send({"do": do, **details})
    return channel.receive()


def find_log(tmp_path: Path) -> str:
    return (tmp_path / "log").read_text()


def test_a_worker_is_a_child_of_the_fork_server_and_leads_a_session_of_its_own(fork_server):
    channel, pid = fork_server.worker()
    said = told(channel, "describe")
    assert said["pid"] == said["session"] == pid
    assert said["parent"] == fork_server.process.pid


def test_every_worker_is_a_fresh_process(fork_server):
    first, second = fork_server.worker(), fork_server.worker()
    assert first[1] != second[1]
    assert told(second[0], "describe")["pid"] == second[1]
    assert told(first[0], "describe")["pid"] == first[1]


def test_the_variables_of_a_request_are_in_its_workers_environment_alone(fork_server):
    red, _ = fork_server.worker(variables={"COLOUR": "red"})
    plain, _ = fork_server.worker()
    assert told(red, "describe")["variable"] == "red"
    assert told(plain, "describe")["variable"] is None


def test_the_input_of_a_worker_is_empty_and_its_output_goes_to_its_log(fork_server, tmp_path):
    channel, _ = fork_server.worker()
    assert told(channel, "describe")["input"] == ""
    told(channel, "print", text="hello")
    assert told(channel, "leave", code=0) == {"event": "exited", "code": 0}
    assert sorted(find_log(tmp_path).splitlines()) == ["HELLO", "hello"]


def test_a_worker_holds_no_connection_but_its_own(fork_server):
    channels = [fork_server.worker()[0] for _ in range(3)]
    assert [told(channel, "describe")["sockets"] for channel in channels] == [1, 1, 1]


@pytest.mark.parametrize(
    ("order", "code"), [({"do": "leave", "code": 3}, 3), ({"do": "raise"}, 1), ({"do": "die"}, -9)]
)
def test_the_exit_status_of_a_worker_is_its_last_message(fork_server, order, code):
    channel, _ = fork_server.worker()
    channel.send(order)
    assert channel.receive() == {"event": "exited", "code": code}
    with pytest.raises(ChannelClosedError, match="the other end closed"):
        channel.receive()


def test_an_uncaught_error_is_in_the_log(fork_server, tmp_path):
    channel, _ = fork_server.worker()
    assert told(channel, "raise")["code"] == 1
    assert find_log(tmp_path).startswith("Traceback (most recent call last):")
    assert find_log(tmp_path).endswith("RuntimeError: broken inside\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token": "battery staple"}, "wrong token"),
        ({"token": "é"}, "wrong token"),
        ({"token": None}, "wrong token"),
        ({"log": "/no/such/folder/log", "start_method": "spawn"}, "[Errno 2] No such file or directory: "),
    ],
)
def test_a_request_that_cannot_be_granted_is_refused_and_the_next_is_served(
    fork_server, family, changes, message
):
    refusal = fork_server.ask(**changes).receive()
    assert refusal["event"] == "refused"
    assert refusal["message"].startswith(message)
    assert family.pids() == {fork_server.process.pid}
    assert told(fork_server.worker()[0], "describe")


@pytest.mark.parametrize("request_", [[], "please", None, {}])
@pytest.mark.more
def test_what_is_no_request_is_refused_and_the_next_is_served(fork_server, request_):
    channel = fork_server.connect()
    channel.send(request_)
    assert channel.receive()["event"] == "refused"
    assert told(fork_server.worker()[0], "describe")


def test_a_peer_that_closes_without_a_request_does_not_disturb_the_server(fork_server):
    fork_server.connect().close()
    assert told(fork_server.worker()[0], "describe")


def test_a_worker_is_killed_with_all_that_it_started_when_its_connection_closes(fork_server):
    (kept, kept_pid), (closed, pid) = fork_server.worker(), fork_server.worker()
    child = told(closed, "start a child")["pid"]
    closed.close()
    assert process_tracking.has_ended(pid)
    assert process_tracking.has_ended(child)
    assert told(kept, "describe")["pid"] == kept_pid


def test_what_a_worker_started_is_killed_when_it_leaves(fork_server):
    channel, _ = fork_server.worker()
    child = told(channel, "start a child")["pid"]
    assert told(channel, "leave", code=0)["code"] == 0
    assert process_tracking.has_ended(child)


def test_workers_are_killed_with_all_that_they_started_when_the_fork_servers_owner_is_gone(fork_server):
    channel, pid = fork_server.worker()
    child = told(channel, "start a child")["pid"]
    fork_server.process.stdin.close()
    assert fork_server.process.wait(10.0) == 0
    assert process_tracking.has_ended(pid)
    assert process_tracking.has_ended(child)


def test_workers_die_with_a_fork_server_that_is_killed(fork_server):
    channel, pid = fork_server.worker()
    fork_server.process.kill()
    assert process_tracking.has_ended(pid)
    with pytest.raises(ChannelClosedError, match="the other end closed"):
        channel.receive()


def test_a_fork_server_that_has_grown_threads_forks_no_more(fork_server):
    assert fork_server.worker()
    fork_server.process.send_signal(signal.SIGUSR1)
    refusal = fork_server.ask().receive()
    assert refusal["message"] == "the fork server has 2 threads; it had 1 at its start"
