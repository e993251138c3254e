"""Times of stops of a training with slow steps: `python tools/stop_times.py [--step-seconds 3]`.

A PyTorch job on the CPU is stopped in or after its first timed block, and the same command is typed again.
Seconds are from the request (for `cancel` and `pause`: from the start of that command).
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.extend([str(Path(__file__).parents[1] / folder) for folder in ("tests/support/host", "benchmarks")])

from metadata_server import metadata_server
from slow_training import PREEMPTED, StoppedSweep, stop_and_resume, write_job

_GRACE_STEPS = 6.7
_KINDS = ("SIGTERM", "SIGTERM twice", "Ctrl-C", "cancel", "pause", "notice")
_EXECUTORS = {"inline": ("executor=inline",), "Ray": ("executor=ray",)}
_SEARCH_ON_RAY = ("executor=ray", "search=adaptive", "search.repeats=2")
_HEADER = (
    "stop",
    "executor",
    "s until recorded",
    "s until the driver ended",
    "CPU s of the driver",
    "checkpoint of step",
    "resumed from",
)


def main(step_seconds: float) -> None:
    """Measure each kind of stop and print a row for it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores Ctrl-C
    print(f"| {' | '.join(_HEADER)} |\n|{'---|' * len(_HEADER)}")
    stops = [(kind, name, words) for kind in _KINDS for name, words in _EXECUTORS.items()]
    metadata = {PREEMPTED: "FALSE"}
    with metadata_server(metadata) as address:
        os.environ["GCE_METADATA_HOST"] = address
        for kind, name, words in (*stops, ("SIGTERM", "Ray, adaptive search", _SEARCH_ON_RAY)):
            with tempfile.TemporaryDirectory(prefix="stop-") as folder:
                job = write_job(
                    Path(folder), step_seconds=step_seconds, grace_seconds=round(_GRACE_STEPS * step_seconds)
                )
                seeds = ("seed=0,1",) if kind == "pause" else ()
                stopped = stop_and_resume(kind, (*job, *words, *seeds), Path(folder), metadata)
                print(f"| {kind} | {name} | {_format_cells(stopped)} |", flush=True)


def _format_cells(stopped: StoppedSweep) -> str:
    steps = (stopped.checkpoint_step, stopped.resumed_step)
    recorded = "not" if stopped.recorded_seconds is None else f"{stopped.recorded_seconds:.1f}"
    times = (recorded, f"{stopped.ended_seconds:.1f}", f"{stopped.cpu_seconds:.2f}")
    return " | ".join((*times, *("none" if step is None else str(step) for step in steps)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step-seconds", type=float, default=3.0)
    main(parser.parse_args().step_seconds)
