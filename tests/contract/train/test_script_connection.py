"""A script's connection to its worker, with the real process of a script."""

import os
import resource
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator.train.trainers.script.connection import Script
from orchestrator.train.trainers.script.variables import ScriptVariables

SAY_HELLO = """
import os, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["ORCHESTRATOR_CALLBACK"])
connection.sendall(b'{"event": "hello"}\\n')
connection.recv(1)
"""


def test_a_script_connects_where_the_temporary_folder_has_a_longer_name_than_a_socket_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    variables = ScriptVariables(passed=os.environ, left_out=())
    script = Script([sys.executable, "-c", SAY_HELLO], folder=str(tmp_path), variables=variables)
    try:
        assert script.wait_for_first_step() is None
        assert script.hear() == {"event": "hello"}
    finally:
        script.finish(trains_to_end=False)
        script.close()


def test_a_script_of_much_output_takes_no_more_memory_of_its_worker_and_connects_soon(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    speak = (
        "import os\nfor _ in range(200 * 16):\n    os.write(1, b'o' * 2**16)\n    os.write(2, b'e' * 2**16)\n"
    )
    before = resource.getrusage(resource.RUSAGE_SELF)
    variables = ScriptVariables(passed=os.environ, left_out=())
    script = Script([sys.executable, "-c", speak + SAY_HELLO], folder=str(tmp_path), variables=variables)
    try:
        assert script.wait_for_first_step() is None
    finally:
        script.finish(trains_to_end=False)
        script.close()
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 60 * 1024, "kilobytes"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5, "seconds for 400 MiB"
    said = capfd.readouterr()
    assert (said.out.strip("o"), said.err.strip("e").strip()) == (
        f"\n… {198 * 2**20:,} bytes left out …\n",
        f"… {198 * 2**20:,} bytes left out …",
    )
