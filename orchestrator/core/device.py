"""Kinds of accelerators with their hosts, and the machines that are really there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DeviceKind = Literal["cpu", "gpu", "tpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One kind of accelerator slice: facts with their source, never what was measured.

    Attributes:
        replicas: data-parallel replicas of one device: TPU cores on v2 and v3, chips on later TPUs, else 1.
        native_precisions: precisions its arithmetic units have; others are emulated or refused.
        peak_flops_per_second: dense peak per precision, of the whole device; a missing one is unknown.
        driver_names: what its driver may call it: recognises an accelerator, and proves a result.
        source: where the figures come from.
    """

    name: str
    kind: DeviceKind
    chips: int
    replicas: int
    native_precisions: tuple[str, ...]
    peak_flops_per_second: Mapping[str, float]
    memory_bytes: int | None
    memory_bytes_per_second: float | None
    driver_names: tuple[str, ...]
    ray_accelerator_type: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine as it was found: its cores and how many of which device it holds."""

    name: str
    cpus: int
    cpu_model: str
    memory_bytes: int
    devices: Mapping[str, int] = field(default_factory=dict)

    @property
    def host_cpu(self) -> str:
        """The CPU as a trial's id names it."""
        return f"{self.cpu_model} x{self.cpus}"
