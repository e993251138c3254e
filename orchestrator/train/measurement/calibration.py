"""Matrix multiplication benchmark of a worker's CPU: reference of utilisation where no peak is published."""

import time
from collections.abc import Callable

from orchestrator.train.measurement.loop import Barrier, Clock
from orchestrator.train.trainer import Trainer, WorkerJob

PRODUCT_SIZE = 2048
"""Rows of a matrix: a product of 17 GFLOP, and three matrices of 16 MiB each in float32."""

_PRODUCTS = 8  # about a second on two cores


def is_wanted(job: WorkerJob) -> bool:
    """Return whether a worker calibrates: requested, and on a CPU, because peaks of accelerators are
    published.

    Not where devices are not alike: the ranks would wait for the slowest, or for one that does not calibrate.
    """
    is_alike = not job.trial.other_devices
    return job.trial.timing.calibrate and job.kind == "cpu" and is_alike and not job.rehearsal


def measure_matmul_peak(trainer: Trainer, *, meet: Barrier, clock: Clock) -> tuple[float, ...]:
    """Seconds of products of square matrices, each from idle device to idle device.

    To be called on every rank when all else is done, for it takes memory and time. Nothing where the trainer
    multiplies nothing.
    """
    multiply = trainer.matmul_benchmark(PRODUCT_SIZE)
    if multiply is None:
        return ()
    seconds = []
    for _ in range(1 + _PRODUCTS):
        meet(True)
        trainer.synchronize()
        start = clock()
        product = multiply()
        trainer.synchronize()
        seconds.append(clock() - start)
        del product  # held until here, because XLA does not compute a value without a reference
    return tuple(seconds[1:])  # the first one compiles


LEAST_SECONDS = 0.1  # longer than the period in which a host shares a core out
_LEAST_TAKES = 3
_MOST_TAKES = 30  # beyond the least seconds: of short ones so many tell as much


def mean_seconds(
    take: Callable[[], object],
    synchronize: Callable[[], None],
    *,
    seconds: float = LEAST_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The mean of many takes: a device that pauses is slow in the mean alone. The first one is not timed.

    Args:
        synchronize: waits for the device.
        seconds: total time of the takes, if a take is long.
        clock: seconds.
    """
    take()  # it chooses and allocates
    synchronize()
    start, took, takes = clock(), 0.0, 0
    while takes < _LEAST_TAKES or took < (seconds if takes < _MOST_TAKES else LEAST_SECONDS):
        take()
        synchronize()
        takes, took = takes + 1, clock() - start
    return took / takes
