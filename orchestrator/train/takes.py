"""How long a piece of work takes, done again and again: what calibrations of a rank's speed stand on."""

import time
from collections.abc import Callable

_LEAST_SECONDS = 0.1  # longer than the period in which a host shares a core out
_LEAST_TAKES = 3


def mean_seconds_of(take: Callable[[], object], synchronize: Callable[[], None]) -> float:
    """The mean of many takes: a device that pauses is slow in the mean alone. The first one is not timed.

    Args:
        synchronize: waits for the device.
    """
    take()  # it chooses and allocates
    synchronize()
    start, takes = time.perf_counter(), 0
    while takes < _LEAST_TAKES or time.perf_counter() - start < _LEAST_SECONDS:
        take()
        synchronize()
        takes += 1
    return (time.perf_counter() - start) / takes
