"""A turn on a host: one holder at a time, and who waits is told for whom."""

import os
import subprocess
import sys

import pytest

from orchestrator.core.errors import RecordError
from orchestrator.record.lock import wait_for_host_lock

_WAITS = """
import sys, pathlib
from orchestrator.record.lock import wait_for_host_lock
say = lambda line: print(line, flush=True)
with wait_for_host_lock(pathlib.Path(sys.argv[1]), sweep="second", on_message=say, is_wanted=lambda: True):
    say("held")
"""


def test_a_waiting_sweep_names_the_holder_of_the_lock_and_is_next(tmp_path):
    path = tmp_path / "cache" / "host.lock"
    with wait_for_host_lock(path, sweep="first", on_message=pytest.fail, is_wanted=bool):
        waiting = subprocess.Popen(
            [sys.executable, "-c", _WAITS, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert waiting.stdout.readline() == (
            f"waiting for sweep 'first', run by process {os.getpid()}: "
            "on one host two sweeps would disturb each other's measurements\n"
        )
        assert waiting.poll() is None
    assert waiting.communicate(timeout=30) == ("held\n", None)
    with wait_for_host_lock(path, sweep="third", on_message=pytest.fail, is_wanted=bool):
        assert path.read_text() == f"sweep 'third', run by process {os.getpid()}"


def test_a_lock_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "cache").touch()
    with (
        pytest.raises(RecordError, match=r"^lock '.*/cache/host.lock' cannot be taken: File exists$"),
        wait_for_host_lock(
            tmp_path / "cache" / "host.lock", sweep="any", on_message=pytest.fail, is_wanted=bool
        ),
    ):
        pass
