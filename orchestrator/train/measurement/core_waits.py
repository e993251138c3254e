"""Waits of threads for a core, and use of the cores by all processes, as Linux counts them."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

CoreWaits = Mapping[str, int]
"""Thread -> nanoseconds that it has waited for a core so far; empty where the kernel does not count them."""

ReadCoreWaits = Callable[[], CoreWaits]


def read_core_waits(process: int | str = "self", *, proc: Path = Path("/proc")) -> CoreWaits:
    """Read the counters of all threads of a process: `/proc/PID/schedstat` is of its main thread alone."""
    waits, has_run = {}, False
    with suppress(OSError):
        for task in (proc / str(process) / "task").iterdir():
            with suppress(OSError, ValueError):  # the thread has just ended
                running, waiting, _ = map(int, (task / "schedstat").read_text().split())
                waits[task.name] = waiting
                has_run = has_run or running > 0
    return waits if has_run else {}  # zeros alone: the kernel was built or booted without these counters


def read_busy_seconds(*, proc: Path = Path("/proc")) -> float | None:
    """Read how long the cores that this process may use were busy since the boot, with any process.

    Counted in ticks, usually of 10 ms. None if the kernel has no counter.
    """
    ticks = 0
    try:
        cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        for line in (proc / "stat").read_text().splitlines():
            name, *counts = line.split()
            if name in cores:
                user, nice, system, _idle, _iowait, *others = map(int, counts)
                ticks += user + nice + system + sum(others[:3])  # others: irq, softirq, steal
    except (OSError, ValueError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else None


def seconds_waited(before: CoreWaits, after: CoreWaits) -> float | None:
    """Add up the waits of all threads between two readings; None: the kernel does not count them.

    Threads that ended in between are missing, so that it is a lower bound.
    """
    if not (before and after):
        return None
    return sum(max(0, waits - before.get(thread, 0)) for thread, waits in after.items()) / 1e9
