"""The parent of an embedded raylet: it ends all that came of the raylet when that or the driver has ended.

The agents of ray 2.60 live on for up to 65 s after their raylet, and its workers for some seconds.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import workloads
from workloads.family import die_with_parent, end_descendants, keep_orphans

_START = f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import main; main(sys.argv[2:])"


def guarded(command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` below a guard."""
    return [sys.executable, "-P", "-c", _START, str(Path(str(workloads.__file__)).parents[1]), *command]


def main(command: Sequence[str]) -> None:
    """Run the command until it ends, this process gets SIGTERM or its own parent ends."""
    os.setsid()  # a SIGTERM to the driver's process group is for the driver, which stops its trials
    signal.signal(signal.SIGTERM, _leave)
    die_with_parent(by=signal.SIGTERM)  # Ray asks for SIGKILL, after which nobody ends the agents
    keep_orphans()
    try:
        raylet = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        try:
            while os.wait()[0] != raylet.pid:  # orphans end here too
                pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        end_descendants()


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not keep us from ending the others
    sys.exit(0)
