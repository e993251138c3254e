"""One trial of `kernel_split.py`, with a worker that is really slowed down, or over a network that is.

python benchmarks/split_trial.py CASE    # as JSON; prints the record
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from shaped_network import shaped
from trials import require_all, run_in_order, sweep_of

from orchestrator.core import codec
from orchestrator.core.result import TrialRecord
from orchestrator.pipeline.planning import plan_sweep

_PERIOD_SECONDS = 20e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Configuration of a training.

    Attributes:
        kernels: of its two layers, as in 50:500.
        steps: that are timed.
        shares, rebalance: of `trainer`; None where it has no such option.
        slow_after_seconds: of the life of worker 1, from when on it has half of its core; None: never.
        mbit_per_second: of the network; None: as it is.
    """

    kernels: str
    batch: int
    workers: int
    steps: int
    trainer: str = "kernel_split"
    shares: str | None = "measured"
    rebalance: str | None = None
    slow_after_seconds: float | None = None
    mbit_per_second: int | None = None


def build_record(case: Case) -> TrialRecord:
    """Run it."""
    if case.mbit_per_second is not None:
        return _record_from_a_shaped_network(case)
    options = {"shares": case.shares, "rebalance": case.rebalance}
    words = (
        "+sweep=single",
        "sweep.grid.workload=[cifar10_cnn]",
        f"workload.kernels=[{case.kernels.replace(':', ',')}]",
        f"trainer={case.trainer}",
        *(f"trainer.{name}={value}" for name, value in options.items() if value),
        "precision=fp32",
        "executor=inline",
        f"num_workers={case.workers}",
        f"global_batch_size={case.batch}",
        f"steps={1 + 1 + case.steps}",
        "measure.warmup_steps=1",
        "measure.steps_per_block=1",
        f"measure.min_blocks={case.steps}",
        f"measure.max_blocks={case.steps}",
    )
    with sweep_of(*words) as (settings, preflight):
        plan = plan_sweep(settings, preflight)
        require_all(plan)
        pinned = [replace(placement, threads=1) for placement in plan.placements]
        after = case.slow_after_seconds
        with contextlib.nullcontext() if after is None else halved("rank1.log", after_seconds=after):
            (record,) = run_in_order(pinned, settings, preflight)
    return record


def _record_from_a_shaped_network(case: Case) -> TrialRecord:
    word = codec.to_json(replace(case, mbit_per_second=None))
    command = shaped([sys.executable, __file__, word], mbit_per_second=case.mbit_per_second or 0)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)  # it has said why
    return codec.from_json(TrialRecord, done.stdout)


@contextlib.contextmanager
def halved(log: str, *, after_seconds: float = 0.0) -> Iterator[None]:
    """Give the worker that writes a log of that name half of its time: real pauses, in all that it does.

    Args:
        after_seconds: of its life.
    """
    over = threading.Event()
    thread = threading.Thread(target=_halve, args=(log, over, after_seconds))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _halve(log: str, over: threading.Event, after_seconds: float) -> None:
    worker = None
    while worker is None and not over.wait(1e-3):
        worker = next(
            (descendant for descendant in _descendants() if _output_of(descendant).endswith(log)), None
        )
    over.wait(after_seconds)
    with contextlib.suppress(ProcessLookupError):
        while worker is not None and not over.is_set():
            for number in (signal.SIGSTOP, signal.SIGCONT):
                os.kill(worker, number)
                time.sleep(_PERIOD_SECONDS / 2)


def _descendants() -> list[int]:
    return [child.pid for child in psutil.Process().children(recursive=True)]


def _output_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/1").readlink())
    except OSError:  # it has ended meanwhile
        return ""


def main(words: Sequence[str]) -> None:
    (case,) = words
    print(codec.to_json(build_record(codec.from_json(Case, case))))


if __name__ == "__main__":
    main(sys.argv[1:])
