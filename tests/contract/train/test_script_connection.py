"""A script's connection to its worker, with the real process of a script."""

import os
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
