"""Cost of tracking a sweep: untracked, with a server on this host, and with a distant one.

    python benchmarks/tracking.py [--rounds 3] [--delay-seconds 0.3]

Prints tables for `docs/findings/failures_and_records.md`. All figures of a round are of one run; run it on a
quiet machine.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from overhead import seconds_between_ends
from proxy import before
from trials import count, load_records, steps_per_second

_START_SECONDS = 120
NOOP = ("+sweep=smoke", "trainer=noop", "precision=fp32", "sweep.include=[]", "executor=inline")
REAL = ("+sweep=smoke", "trainer=torch_ddp", "precision=fp32", "sweep.include=[]", "executor=inline")


@contextmanager
def mlflow_server(folder: Path) -> Iterator[int]:
    """MLflow's own server with a database in a folder, at a free port."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, **silent)
    try:
        until = time.monotonic() + _START_SECONDS
        while not _answers(port):
            time.sleep(0.2)
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("MLflow's server did not start")
        yield port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
            return True
    except OSError:
        return False


def measured(words: Sequence[str], tracking: Sequence[str]) -> tuple[float, float, float]:
    """Seconds from end to end of a trial, seconds of the whole sweep, steps per second (medians)."""
    start = time.perf_counter()
    records = load_records(*words, *tracking)
    seconds = time.perf_counter() - start
    return seconds_between_ends(records), seconds, statistics.median(map(steps_per_second, records))


def table(title: str, words: Sequence[str], servers: dict[str, list[str]], *, rounds: int) -> None:
    print(f"\n## {title}\n")
    print(
        "| round | tracking | s from trial to trial | s of the sweep | steps per s |\n|---|---|---|---|---|"
    )
    for index in range(rounds):
        for name, tracking in servers.items():
            found = measured((*words, f"sweep.name=round{index}"), tracking)
            print(f"| {index + 1} | {name} | {found[0]:.3f} | {found[1]:.1f} | {found[2]:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=count, default=3)
    parser.add_argument("--delay-seconds", type=float, default=0.3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, mlflow_server(Path(folder)) as port, before(port) as proxy:
        proxy.delay_seconds = arguments.delay_seconds
        servers = {
            "none": ["tracking=none"],
            "server": ["tracking=mlflow", f"tracking.uri=http://127.0.0.1:{port}"],
            f"{arguments.delay_seconds:g} s a request": ["tracking=mlflow", f"tracking.uri={proxy.url}"],
        }
        table("No-op trials", (*NOOP, "sweep.repeats=20"), servers, rounds=arguments.rounds)
        table("torch_ddp", (*REAL, "sweep.repeats=5"), servers, rounds=arguments.rounds)


if __name__ == "__main__":
    main()
