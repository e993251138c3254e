"""(device) -> the topology that Google's TPU compiler compiles for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.device import Device
from orchestrator.core.tpu_topology import generation_of, topology_of_host

LIBTPU_VERSION = "0.0.52"
"""The version whose limits and reports are known here."""

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileTarget:
    """One host's slice of TPUs, as the compiler names it.

    Attributes:
        topology: `v3:2x2`.
        partitions: devices of the slice that one program runs on.
        chip_config: set where a chip's two cores are one device.
        granted_bytes: memory that a program gets on each of those devices.
    """

    topology: str
    partitions: int
    granted_bytes: int
    chip_config: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    name: str
    granted_gib: float
    chip_config: str | None = None


_GENERATIONS: Mapping[str, _Generation] = {
    "v2": _Generation(name="v2", granted_gib=7.48),
    "v3": _Generation(name="v3", granted_gib=15.48),
    "v4": _Generation(name="v4", granted_gib=30.75, chip_config="megacore"),
    "v5litepod": _Generation(name="v5e", granted_gib=15.75),
    "v5p": _Generation(name="v5p", granted_gib=95.73),
    "v6e": _Generation(name="v6e", granted_gib=31.24),
}
"""Generation in a slice type -> the compiler's name, and the memory that it grants a device.

It says the latter when it refuses a program that is too large."""


def target_of(device: Device) -> CompileTarget | None:
    """Return the target of one host's slice; None for other devices, and generations without a compiler."""
    generation = _GENERATIONS.get(generation_of(device.slice_type or ""))
    if generation is None:
        return None
    return CompileTarget(
        topology=f"{generation.name}:{topology_of_host(device)}",
        partitions=device.replicas,
        granted_bytes=round(generation.granted_gib * _GIB),
        chip_config=generation.chip_config,
    )
