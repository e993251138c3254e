"""How long a piece of work takes, done again and again: what calibrations of a rank's speed stand on."""

import time
from collections.abc import Callable

LEAST_SECONDS = 0.1  # longer than the period in which a host shares a core out
_LEAST_TAKES = 3
_MOST_TAKES = 30  # beyond the least seconds: of short ones so many tell as much


def mean_seconds_of(
    take: Callable[[], object],
    synchronize: Callable[[], None],
    *,
    seconds: float = LEAST_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The mean of many takes: a device that pauses is slow in the mean alone. The first one is not timed.

    Args:
        synchronize: waits for the device.
        seconds: that takes go on for, where they are so long that there are few of them.
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
