"""Micro-benchmark of a device on the user's own host: plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBenchmark:
    """Measured limits of one device with its host and software; None, or absent: not measured.

    Attributes:
        driver_name: name that the driver gives the device; of a CPU its model.
        layer_seconds: precision -> seconds that a small layer adds to a training step: launches and Python.
        step_seconds: precision -> seconds of a step beside its layers, likewise.
        flops_per_second: precision -> rate of the fastest product of square matrices.
        memory_bytes_per_second: bytes read and written by a copy within the device's memory.
        exchange_bytes_per_second: bytes that one GPU sends in an all-reduce over all; None with one device.
    """

    driver_name: str
    layer_seconds: Mapping[str, float] = field(default_factory=dict)
    step_seconds: Mapping[str, float] = field(default_factory=dict)
    flops_per_second: Mapping[str, float] = field(default_factory=dict)
    memory_bytes_per_second: float | None = None
    exchange_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Benchmark with its circumstances.

    Attributes:
        device: name of the device in `conf/device`.
        host_cpu: model of the host's CPU and the number of its cores.
        measured_at: seconds since the epoch.
        load_average: of the host in the minute before.
        versions: package or driver -> version.
    """

    device: str
    host_cpu: str
    measured_at: float
    load_average: float
    benchmark: DeviceBenchmark
    versions: Mapping[str, str] = field(default_factory=dict)
    schema_version: int = 1

    @property
    def place(self) -> str:
        """The device that it holds for; of a CPU the host's model and cores (`Node.host_cpu`)."""
        return self.host_cpu if self.device == "cpu" else self.device
