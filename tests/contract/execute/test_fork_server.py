"""A real nursery whose workers do what a test asks of them over their connection."""

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


class Nursery:
    """A nursery that was started for a test, and the connections made to it."""

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
def nursery(tmp_path, family):
    (tmp_path / "obedient.py").write_text(_OBEDIENT)
    path = tmp_path / "nursery"
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
    started = Nursery(process, path)
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


def log_of(tmp_path: Path) -> str:
    return (tmp_path / "log").read_text()


def test_a_worker_is_a_child_of_the_nursery_and_leads_a_session_of_its_own(nursery):
    channel, pid = nursery.worker()
    said = told(channel, "describe")
    assert said["pid"] == said["session"] == pid
    assert said["parent"] == nursery.process.pid


def test_every_worker_is_a_fresh_process(nursery):
    first, second = nursery.worker(), nursery.worker()
    assert first[1] != second[1]
    assert told(second[0], "describe")["pid"] == second[1]
    assert told(first[0], "describe")["pid"] == first[1]


def test_the_variables_of_a_request_are_in_its_workers_environment_alone(nursery):
    red, _ = nursery.worker(variables={"COLOUR": "red"})
    plain, _ = nursery.worker()
    assert told(red, "describe")["variable"] == "red"
    assert told(plain, "describe")["variable"] is None


def test_a_worker_reads_nothing_from_standard_input_and_writes_to_its_log(nursery, tmp_path):
    channel, _ = nursery.worker()
    assert told(channel, "describe")["input"] == ""
    told(channel, "print", text="hello")
    assert told(channel, "leave", code=0) == {"event": "exited", "code": 0}
    assert sorted(log_of(tmp_path).splitlines()) == ["HELLO", "hello"]


def test_a_worker_holds_no_connection_but_its_own(nursery):
    channels = [nursery.worker()[0] for _ in range(3)]
    assert [told(each, "describe")["sockets"] for each in channels] == [1, 1, 1]


@pytest.mark.parametrize(
    ("order", "code"), [({"do": "leave", "code": 3}, 3), ({"do": "raise"}, 1), ({"do": "die"}, -9)]
)
def test_the_exit_status_of_a_worker_is_the_last_that_is_heard_of_it(nursery, order, code):
    channel, _ = nursery.worker()
    channel.send(order)
    assert channel.receive() == {"event": "exited", "code": code}
    with pytest.raises(ChannelClosedError, match="the other end closed"):
        channel.receive()


def test_an_error_that_nobody_caught_is_in_the_log(nursery, tmp_path):
    channel, _ = nursery.worker()
    assert told(channel, "raise")["code"] == 1
    assert log_of(tmp_path).startswith("Traceback (most recent call last):")
    assert log_of(tmp_path).endswith("RuntimeError: broken inside\n")


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
    nursery, family, changes, message
):
    refusal = nursery.ask(**changes).receive()
    assert refusal["event"] == "refused"
    assert refusal["message"].startswith(message)
    assert family.pids() == {nursery.process.pid}
    assert told(nursery.worker()[0], "describe")


@pytest.mark.parametrize("request_", [[], "please", None, {}])
def test_what_is_no_request_is_refused_and_the_next_is_served(nursery, request_):
    channel = nursery.connect()
    channel.send(request_)
    assert channel.receive()["event"] == "refused"
    assert told(nursery.worker()[0], "describe")


def test_a_peer_that_leaves_without_a_word_disturbs_nobody(nursery):
    nursery.connect().close()
    assert told(nursery.worker()[0], "describe")


def test_a_worker_is_killed_with_all_that_it_started_when_its_connection_closes(nursery):
    (kept, kept_pid), (closed, pid) = nursery.worker(), nursery.worker()
    child = told(closed, "start a child")["pid"]
    closed.close()
    assert process_tracking.has_ended(pid)
    assert process_tracking.has_ended(child)
    assert told(kept, "describe")["pid"] == kept_pid


def test_what_a_worker_started_is_killed_when_it_leaves(nursery):
    channel, _ = nursery.worker()
    child = told(channel, "start a child")["pid"]
    assert told(channel, "leave", code=0)["code"] == 0
    assert process_tracking.has_ended(child)


def test_workers_are_killed_with_all_that_they_started_when_the_nurserys_owner_is_gone(nursery):
    channel, pid = nursery.worker()
    child = told(channel, "start a child")["pid"]
    nursery.process.stdin.close()
    assert nursery.process.wait(10.0) == 0
    assert process_tracking.has_ended(pid)
    assert process_tracking.has_ended(child)


def test_workers_die_with_a_nursery_that_is_killed(nursery):
    channel, pid = nursery.worker()
    nursery.process.kill()
    assert process_tracking.has_ended(pid)
    with pytest.raises(ChannelClosedError, match="the other end closed"):
        channel.receive()


def test_a_nursery_that_has_grown_threads_forks_no_more(nursery):
    assert nursery.worker()
    nursery.process.send_signal(signal.SIGUSR1)
    refusal = nursery.ask().receive()
    assert refusal["message"] == "the nursery has 2 threads, 1 when it was new"
