"""What splitting convolutions over unequal workers gains, measured and predicted.

    python benchmarks/kernel_split.py [--kernels 50:500 500:1500] [--batch 16] [--steps 5] [--json]

Trials of cifar10_cnn in fp32 under trainer=kernel_split; every worker has one thread, and the baseline is one
worker alone. In the slow cases worker 1 is stopped for half of every 20 ms (SIGSTOP, SIGCONT), calibration
included: half a device. Predicted is the speed-up that `split_time.py` makes of what a trial's record has of
its set-up, speeds and links, and of the rest of the baseline's steps (all but the convolutions); Amdahl's
bound leaves out the traffic. `convolutions` are the step without that rest. Run it on a quiet machine: where
others wait for a core, a worker that was stopped gets it at once, and is no slower than before.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import psutil
from split_time import Link, bound, layers_of, step_seconds
from trials import count, require_all, run_in_order, steps_per_second, sweep_of

from orchestrator import pipeline
from orchestrator.core.result import DeviceFacts, TrialRecord
from workloads.registry import workload

_PERIOD_SECONDS = 20e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a network is trained.

    Attributes:
        shares: of `trainer.shares`.
        slow: whether worker 1 has half of its core.
    """

    name: str
    workers: int
    shares: str = "measured"
    slow: bool = False


WAYS = (
    Way(name="alone", workers=1),
    Way(name="even", workers=2, shares="even"),
    Way(name="measured", workers=2),
    Way(name="even, one slow", workers=2, shares="even", slow=True),
    Way(name="measured, one slow", workers=2, slow=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case of the table; `shares` are kernels, [layer][rank].

    Attributes:
        predicted: the speed-up that the model makes of this case's calibration.
        bound: Amdahl's.
        convolution_seconds: of the measured step, all but the rest.
    """

    kernels: str
    way: str
    shares: tuple[tuple[int, ...], ...]
    step_seconds: float
    speed_up: float
    predicted: float
    bound: float
    convolution_seconds: float


def outcomes_of(kernels: str, *, batch: int, steps: int) -> Iterator[Outcome]:
    """All ways of one network."""
    spec = workload("cifar10_cnn", {"kernels": tuple(map(int, kernels.split(":")))})
    layers = layers_of(spec.networks["model"], batch=batch)
    alone: Outcome | None = None
    rest = predicted_alone = 0.0
    for way in WAYS:
        devices = _devices_of(record := _record_of(way, kernels=kernels, batch=batch, steps=steps))
        shares, speeds = _shares_and_speeds(devices)
        rest = rest or devices[0].kernel_rest_seconds or 0.0
        expected = step_seconds(layers, shares, speeds, rest_seconds=rest, link=_link_of(devices))
        seconds = 1 / steps_per_second(record)
        predicted_alone = predicted_alone or expected
        found = Outcome(
            kernels=kernels,
            way=way.name,
            shares=shares,
            step_seconds=seconds,
            speed_up=(alone.step_seconds if alone else seconds) / seconds,
            predicted=predicted_alone / expected,
            bound=bound(layers, speeds, alone_seconds=predicted_alone, rest_seconds=rest),
            convolution_seconds=seconds - rest,
        )
        alone = alone or found
        yield found


def _record_of(way: Way, *, kernels: str, batch: int, steps: int) -> TrialRecord:
    words = (
        "+sweep=single",
        "sweep.grid.workload=[cifar10_cnn]",
        f"workload.kernels=[{kernels.replace(':', ',')}]",
        "trainer=kernel_split",
        f"trainer.shares={way.shares}",
        "precision=fp32",
        "executor=inline",
        f"num_workers={way.workers}",
        f"global_batch_size={batch}",
        f"steps={1 + 1 + steps}",
        "measure.warmup_steps=1",
        "measure.steps_per_block=1",
        f"measure.min_blocks={steps}",
        f"measure.max_blocks={steps}",
    )
    with sweep_of(*words) as (settings, situation):
        plan = pipeline.plan_sweep(settings, situation)
        require_all(plan)
        pinned = [replace(each, threads=1) for each in plan.placements]
        with halved("rank1.log") if way.slow else contextlib.nullcontext():
            (record,) = run_in_order(pinned, settings, situation)
    return record


def _devices_of(record: TrialRecord) -> tuple[DeviceFacts, ...]:
    assert record.result is not None
    return record.result.devices


def _link_of(devices: Sequence[DeviceFacts]) -> Link:
    """The one that there is; one worker alone sends nothing."""
    found = [each.kernel_link for each in devices if each.kernel_link]
    if not found:
        return Link(bytes_per_second=float("inf"), latency_seconds=0.0)
    return Link(bytes_per_second=found[0].bytes_per_second, latency_seconds=found[0].latency_seconds)


def _shares_and_speeds(
    devices: Sequence[DeviceFacts],
) -> tuple[tuple[tuple[int, ...], ...], list[list[float]]]:
    """[layer][rank]."""
    of_layers = list(zip(*(rank.kernel_shares for rank in devices), strict=True))
    shares = tuple(tuple(each.kernels for each in ranks) for ranks in of_layers)
    return shares, [[each.flops_per_second for each in ranks] for ranks in of_layers]


@contextlib.contextmanager
def halved(log: str) -> Iterator[None]:
    """Give the worker that writes a log of that name half of its time: real pauses, in all that it does."""
    over = threading.Event()
    thread = threading.Thread(target=_halve, args=(log, over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _halve(log: str, over: threading.Event) -> None:
    worker = None
    while worker is None and not over.wait(1e-3):
        worker = next((each for each in _descendants() if _output_of(each).endswith(log)), None)
    with contextlib.suppress(ProcessLookupError):
        while worker is not None and not over.is_set():
            for number in (signal.SIGSTOP, signal.SIGCONT):
                os.kill(worker, number)
                time.sleep(_PERIOD_SECONDS / 2)


def _descendants() -> list[int]:
    return [each.pid for each in psutil.Process().children(recursive=True)]


def _output_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/1").readlink())
    except OSError:  # it has ended meanwhile
        return ""


def row_of(found: Outcome) -> str:
    """A line of the table."""
    shares = ", ".join(":".join(map(str, each)) for each in found.shares)
    return (
        f"| {found.kernels} | {found.way} | {shares} | {found.step_seconds:.3g} | {found.speed_up:.2f} "
        f"| {found.predicted:.2f} | {found.bound:.2f} | {found.convolution_seconds:.3g} |"
    )


def _kernels(word: str) -> str:
    numbers = word.split(":")
    if len(numbers) != 2 or not all(each.isdigit() and int(each) > 0 for each in numbers):
        raise argparse.ArgumentTypeError(f"{word!r} must be the kernels of two layers, as in 50:500")
    return word


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kernels", nargs="+", type=_kernels, default=("50:500", "500:1500"), help="of the two layers"
    )
    parser.add_argument("--batch", type=partial(count, least=2), default=16)
    parser.add_argument("--steps", type=count, default=5, help="timed, of each case")
    parser.add_argument("--json", action="store_true", help="one object a line instead of a table")
    asked = parser.parse_args(words)
    if not asked.json:
        print("| kernels | way | shares by layer | s/step | speed-up | predicted | bound | convolutions, s |")
        print("|---|---|---|---|---|---|---|---|")
    write: Callable[[Outcome], str] = (lambda each: json.dumps(asdict(each))) if asked.json else row_of
    for kernels in asked.kernels:
        for found in outcomes_of(kernels, batch=asked.batch, steps=asked.steps):
            print(write(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
