"""(device) -> the topology that Google's TPU compiler compiles for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.device import Device, parse_generation, topology_of_host

LIBTPU_VERSION = "0.0.52"
"""The version for which limits and reports are known here."""

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileTarget:
    """One host's slice of TPUs, as the compiler names it.

    Attributes:
        topology: `v3:2x2`.
        partitions: devices of the slice that one program runs on.
        chip_config: set where a chip's two cores are one device.
        granted_bytes: memory that a program gets on each of those devices.
        clock_hertz: cycles of the compiler's estimates in a second; None: not known.
    """

    topology: str
    partitions: int
    granted_bytes: int
    clock_hertz: float | None = None
    chip_config: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    name: str
    granted_gib: float
    clock_ghz: float | None = None
    chip_config: str | None = None


_GENERATIONS: Mapping[str, _Generation] = {
    "v2": _Generation(name="v2", granted_gib=7.48, clock_ghz=0.70),
    "v3": _Generation(name="v3", granted_gib=15.48, clock_ghz=0.94),
    "v4": _Generation(name="v4", granted_gib=30.75, clock_ghz=1.05, chip_config="megacore"),
    "v5litepod": _Generation(name="v5e", granted_gib=15.75, clock_ghz=1.50),
    "v5p": _Generation(name="v5p", granted_gib=95.73, clock_ghz=1.75),
    "v6e": _Generation(name="v6e", granted_gib=31.24),
    "tpu7x": _Generation(name="tpu7x", granted_gib=94.74),
}
"""Generation in a slice type -> the compiler's name, the memory that it grants a device, and the clock.

It reports the memory when it refuses a program that is too large. The clock is the published peak over the
operations of a cycle: 128 x 128 multiply-adds in every matrix unit (1 in a core of v2, 2 of v3; 8 in a chip
of v4 and v5p, 4 of v5e), as Jouppi et al. 2021 and 2023 and Google's documentation give both. The cycles of a
large matrix product on a v6e would need 3.0 GHz to reach its peak, and on a v7x 2.9 GHz, so their unit is not
known."""


def find_target(device: Device) -> CompileTarget | None:
    """Return the target of one host's slice; None for other devices, and generations without a compiler."""
    generation = _GENERATIONS.get(parse_generation(device.slice_type or ""))
    if generation is None:
        return None
    return CompileTarget(
        topology=f"{generation.name}:{topology_of_host(device)}",
        partitions=device.replicas,
        granted_bytes=round(generation.granted_gib * _GIB),
        clock_hertz=generation.clock_ghz and generation.clock_ghz * 1e9,
        chip_config=generation.chip_config,
    )
