"""A script's connection to its worker, with the real processes of both.

A worker ends all its descendants with its script, and takes over their orphans, so it is never the process of
the tests.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

WORKER = """
import json, os, resource, sys
from orchestrator.extensions.scripts.connection import Script
from orchestrator.extensions.scripts.variables import ScriptVariables

before = resource.getrusage(resource.RUSAGE_SELF)
variables = ScriptVariables(passed=os.environ, left_out=())
script = Script([sys.executable, "-c", sys.argv[1]], folder=sys.argv[2], variables=variables)
try:
    assert script.wait_for_first_step() is None
    first = script.read_message() if sys.argv[3:] else None
finally:
    script.finish(trains_to_end=False)
    script.close()
after = resource.getrusage(resource.RUSAGE_SELF)
used = {
    "kibibytes": after.ru_maxrss - before.ru_maxrss,
    "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
}
with open("answer.json", "w") as file:
    json.dump({"first": first, **used}, file)
"""
"""Connects a script, whose code is its first word; reads an event of it where there is a third word."""

SAY_HELLO = """
import os, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["ORCHESTRATOR_CALLBACK"])
connection.sendall(b'{"event": "hello"}\\n')
connection.recv(1)
"""


def connect(
    code: str, *words: str, folder: Path, **variables: str
) -> tuple[Mapping[str, object], subprocess.CompletedProcess[str]]:
    """Run a worker with a script; return its answer, and its process with what was written."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, code, str(folder), *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "answer.json").read_text()), done


def test_a_script_connects_where_the_temporary_folder_has_a_longer_name_than_a_socket_may_have(
    tmp_path: Path,
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    answer, _ = connect(SAY_HELLO, "read", folder=tmp_path, TMPDIR=str(long))
    assert answer["first"] == {"event": "hello"}


def test_a_script_of_much_output_takes_no_more_memory_of_its_worker_and_connects_soon(tmp_path: Path) -> None:
    write = (
        "import os\nfor _ in range(200 * 16):\n    os.write(1, b'o' * 2**16)\n    os.write(2, b'e' * 2**16)\n"
    )
    answer, done = connect(write + SAY_HELLO, folder=tmp_path)
    assert int(str(answer["kibibytes"])) < 60 * 1024
    assert float(str(answer["cpu_seconds"])) < 5, "seconds for 400 MiB"
    assert (done.stdout.strip("o"), done.stderr.strip("e").strip()) == (
        f"\n… {198 * 2**20:,} bytes left out …\n",
        f"… {198 * 2**20:,} bytes left out …",
    )
