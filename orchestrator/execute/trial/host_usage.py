"""Looks at the host every few seconds of a trial, from beside it: its workers do not notice."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.core.inventory import GpuUse, HostUsage
from orchestrator.train.measurement import counters as nvml

_SECONDS = 2.0  # a look reads two small files: 0.1 ms
_MOST = 256  # samples kept of one trial


def host_use(gpus: Callable[[], tuple[GpuUse, ...]], *, proc: Path = Path("/proc")) -> HostUsage:
    """Read the current counters of Linux and the GPU driver. `proc/stat` is defined in `proc(5)`."""
    user, nice, system, idle, iowait, *others = _ticks(proc / "stat")
    busy = user + nice + system + sum(others[:3])  # interrupts and stolen time; guests are in `user`
    per_second = os.sysconf("SC_CLK_TCK")
    memory = _memory(proc / "meminfo")
    return HostUsage(
        at=time.time(),
        cpu_busy_seconds=busy / per_second,
        cpu_seconds=(busy + idle + iowait) / per_second,
        memory_bytes=memory["MemTotal"] - memory["MemAvailable"],
        memory_total_bytes=memory["MemTotal"],
        gpus=gpus(),
    )


def read_gpus(ids: Sequence[str], *, library: str = nvml.LIBRARY) -> Callable[[], tuple[GpuUse, ...]]:
    """A look at these GPUs; at none where the driver does not answer."""
    with contextlib.suppress(OSError):
        load = nvml.GpuLoad(ids, library=library)
        return lambda: _list_loads(load)
    return tuple


def _list_loads(load: nvml.GpuLoad) -> tuple[GpuUse, ...]:
    with contextlib.suppress(OSError):
        return load.now()
    return ()


class HostUsageSampler:
    """Samples taken so far, and the monotonic time of the next one.

    The interval grows with the trial: above the maximum number of samples, every second one is dropped.
    """

    def __init__(self, read_usage: Callable[[], HostUsage]) -> None:
        self._read_usage = read_usage
        self._seconds = _SECONDS
        self.due = 0.0
        self.seen: tuple[HostUsage, ...] = ()

    def sample(self, *, now: float) -> None:
        """Take one sample, whether it is due or not."""
        self.seen = (*self.seen, self._read_usage())
        if len(self.seen) > _MOST:
            self.seen, self._seconds = self.seen[::2], 2 * self._seconds
        self.due = now + self._seconds


def _ticks(stat: Path) -> list[int]:
    """The line of all cores together."""
    return [int(word) for word in stat.read_text().partition("\n")[0].split()[1:]]


def _memory(meminfo: Path) -> dict[str, int]:
    """Name -> bytes."""
    lines = (line.partition(":") for line in meminfo.read_text().splitlines())
    return {name: int(amount.split()[0]) * 1024 for name, _, amount in lines}
