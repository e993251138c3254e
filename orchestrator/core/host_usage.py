"""Counters of a host at moments of a trial; raw values, because shares are computed from differences."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU of the trial.

    Attributes:
        busy_fraction: fraction of the driver's last sampling period in which a kernel ran; 0 to 1.
        memory_bytes: memory in use by all processes.
    """

    busy_fraction: float
    memory_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUsage:
    """Usage of the whole host by all processes, and of the trial's GPUs.

    Attributes:
        at: seconds since the epoch, wall clock of that host.
        cpu_busy_seconds: busy time of all cores together since the host booted.
        cpu_seconds: total time of all cores together since then.
        memory_bytes: memory that is not available to a new program.
        gpus: usage in the order of the trial's devices; empty if the driver cannot report it.
    """

    at: float
    cpu_busy_seconds: float
    cpu_seconds: float
    memory_bytes: int
    memory_total_bytes: int
    gpus: tuple[GpuUse, ...] = ()
