"""All that a command has left behind ends with the process that asked for it."""

import os
import signal
import subprocess
import sys

import pytest
from process_tracking import family

DAEMON = "setsid sleep 1000 >/dev/null 2>&1 &"


@pytest.fixture
def relatives(monkeypatch):
    with family(monkeypatch) as started:
        yield started


def checkpoint_options(*command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "orchestrator.execute.machine.subreaper", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_daemon_ends_when_the_owner_lets_go(relatives):
    with checkpoint_options("sh", "-c", DAEMON) as keeper:
        assert keeper.stdout.readline() == "ready\n"
        relatives.wait_until_there_are(2)
    relatives.wait_until_gone()


def test_a_daemon_ends_when_its_keeper_gets_sigterm(relatives):
    with checkpoint_options("sh", "-c", DAEMON) as keeper:
        assert keeper.stdout.readline() == "ready\n"
        os.kill(keeper.pid, signal.SIGTERM)
        relatives.wait_until_gone()


def test_a_command_that_fails_is_never_ready_and_leaves_no_process(relatives):
    with checkpoint_options("sh", "-c", f"{DAEMON} exit 3") as keeper:
        assert keeper.stdout.readline() == ""
    relatives.wait_until_gone()
