"""Counters of a host at moments of a trial; raw values, because shares are computed from differences."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU of the trial.

    Attributes:
        busy_fraction: of the driver's own last period, in which some kernel ran; 0 to 1.
        memory_bytes: in use, by whomever.
    """

    busy_fraction: float
    memory_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUsage:
    """Usage of the whole host by all processes, and of the trial's GPUs.

    Attributes:
        at: seconds since the epoch, wall clock of that host.
        cpu_busy_seconds: that all cores together have worked since the host was started.
        cpu_seconds: that all cores together have had since then.
        memory_bytes: what a new program could not have.
        gpus: in the order of the trial's devices; none where the driver cannot say.
    """

    at: float
    cpu_busy_seconds: float
    cpu_seconds: float
    memory_bytes: int
    memory_total_bytes: int
    gpus: tuple[GpuUse, ...] = ()
