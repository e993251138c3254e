"""A command below a guard: all that came of it ends with it, and with the owner of the guard."""

import os
import signal
import subprocess
import sys

import psutil
import pytest
from process_tracking import family, has_ended

pytest.importorskip("ray", reason="Ray is not installed")

from orchestrator.core.errors import PlacementError
from orchestrator.execute.on_ray.cluster import _refusing_slow_start
from orchestrator.execute.on_ray.raylet_guard import guarded

COMMAND = ["sh", "-c", "setsid sleep 1000 & exec sleep 1001"]
OWNER = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(1002)"
"""Starts a guard as a driver does: in a process that is killed."""


@pytest.fixture
def relatives(monkeypatch):
    with family(monkeypatch) as started:
        yield started


def find(relatives, seconds: str) -> int:
    """Return the process that sleeps so long."""
    (pid,) = [pid for pid in relatives.pids() if psutil.Process(pid).cmdline() == ["sleep", seconds]]
    return pid


def test_what_a_killed_command_leaves_behind_ends_with_its_guard(relatives):
    with subprocess.Popen(guarded(COMMAND)) as guard:
        relatives.wait_until_there_are(3)
        os.kill(find(relatives, "1001"), signal.SIGKILL)
        assert has_ended(guard.pid)
    relatives.wait_until_gone()


def test_a_command_and_what_it_started_end_with_a_guard_that_is_asked_to(relatives):
    with subprocess.Popen(guarded(COMMAND)) as guard:
        relatives.wait_until_there_are(3)
        guard.terminate()
    relatives.wait_until_gone()


def test_a_command_and_what_it_started_end_when_the_owner_of_the_guard_is_killed(relatives):
    with subprocess.Popen([sys.executable, "-c", OWNER, *guarded(COMMAND)]) as owner:
        relatives.wait_until_there_are(4)
        owner.kill()
    relatives.wait_until_gone()


def test_a_signal_to_the_process_group_of_the_owner_does_not_reach_a_command(relatives):
    with subprocess.Popen([sys.executable, "-c", OWNER, *guarded(COMMAND)]) as owner:
        relatives.wait_until_there_are(4)
        assert os.getpgid(find(relatives, "1001")) != os.getpgid(owner.pid)
        owner.kill()
    relatives.wait_until_gone()


def test_a_command_ends_when_its_guard_is_killed(relatives):
    with subprocess.Popen(guarded(COMMAND)) as guard:
        relatives.wait_until_there_are(3)
        command, daemon = find(relatives, "1001"), find(relatives, "1000")
        guard.kill()
        assert has_ended(command)
        os.kill(daemon, signal.SIGKILL)
    relatives.wait_until_gone()


@pytest.mark.parametrize(
    ("text", "kind"),
    [("The current node timed out during startup. This could", PlacementError), ("other", ValueError)],
)
def test_a_start_that_ray_gives_up_is_refused_in_one_line_and_other_errors_pass(text, kind):
    with pytest.raises(kind, match="Ray did not start within its 30 s" if kind is PlacementError else text):
        start_slowly(text)


def start_slowly(text: str) -> None:
    """Fail as a start of Ray that takes too long."""
    with _refusing_slow_start():
        raise ValueError(text)
