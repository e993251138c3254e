"""CPU time of commands from start to end, each a process of its own.

    python benchmarks/start_up.py [--runs 5] [--only status plan] [--outputs FOLDER]

Prints the least and the median CPU seconds (user and system, with the processes that a command started and
waited for) and the seconds of the clock. `python -c pass` and the import of Hydra are the floor: a command
that reads a configuration is never below both.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trials import count

_PROGRAM = ("-m", "orchestrator")
_COMMANDS = {
    "nothing": ("-c", "pass"),
    "import hydra": ("-c", "import hydra"),
    "version": (*_PROGRAM, "--version"),
    "help": (*_PROGRAM, "--help"),
    "wrong verb": (*_PROGRAM, "plna"),
    "completion": (*_PROGRAM, "completion", "bash", "--line=orchestrator plan +sweep="),
    "status": (*_PROGRAM, "status", "+sweep=smoke"),
    "plan smoke": (*_PROGRAM, "plan", "+sweep=smoke"),
    "plan tpu_vs_gpu": (*_PROGRAM, "plan", "+sweep=tpu_vs_gpu"),
    "predict": (*_PROGRAM, "predict", "workload=vgg16", "device=t4,v100"),
    "predict advise": (*_PROGRAM, "predict", "advise", "+sweep=smoke"),
}
"""Name -> words after `python`."""


def timed(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and seconds of one process; its exit code may be that of a wrong request."""
    root = Path(__file__).resolve().parent.parent
    before, began = _cpu_seconds(), time.perf_counter()
    subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return _cpu_seconds() - before, time.perf_counter() - began


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=count, default=5)
    parser.add_argument("--only", nargs="+", choices=_COMMANDS, default=list(_COMMANDS))
    arguments = parser.parse_args()
    print("| command | least CPU s | median CPU s | least s | median s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for command in arguments.only:
            runs = [timed(_COMMANDS[command], Path(name)) for _ in range(arguments.runs)]
            cells = [
                f"{pick(times):.2f}" for times in zip(*runs, strict=True) for pick in (min, statistics.median)
            ]
            print(f"| {command} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
