"""Kinds of accelerators with their hosts, slices of TPUs, and the machines that are really there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from orchestrator.core.errors import ConfigError

DeviceKind = Literal["cpu", "gpu", "tpu", "accelerator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One kind of accelerator slice: facts with their source, never what was measured.

    Attributes:
        name: name of its file in `conf/device/`.
        kind: kind of the accelerator; `cpu` is a host without one, `accelerator` none of the others.
        chips: resource units of one device in a cluster: the TPU chips of a slice, else 1.
        replicas: data-parallel replicas of one device: TPU cores on v2 and v3, chips on later TPUs, else 1.
        instances: number of devices -> rented instance type with its host, as price lists name it.
        compute_capability: NVIDIA's number of a GPU's architecture; None for all others.
        native_precisions: precisions its arithmetic units have; others are emulated or refused.
        peak_flops_per_second: dense peak per precision, of the whole device; a missing one is unknown.
        driver_names: names that the driver may report; used to recognise a GPU and to verify a result.
        slice_type: a TPU slice as Cloud TPU calls it, `v5litepod-8`: recognises it. None for all others.
        source: source of the figures.
        memory_bytes: capacity of a GPU's own memory; None: unknown, or a TPU, where the compiler has it.
        memory_bytes_per_second: peak of its own memory, of the whole device; None: unknown.
        link_bytes_per_second: most that one of its chips can exchange with others, as its maker counts it;
            None: not published.
        tdp_watts: the most that it draws for long, by its maker; None: not published.
        cpus: number of devices -> vCPUs of the rented machine, from the price list `conf/prices/gcp.yaml`.
        host_memory_gib: number of devices -> memory of the rented machine. Written from memory.
        ray_type: Ray's name of its accelerator, `T4` or `TPU-V3`; None for a CPU.
        cloud_type: accelerator type of Compute Engine and GKE; None if neither has one.
        runtime: software version of a Cloud TPU machine; None for all others. Written from memory.
        no_trainer: why no trainer here trains on it, in one line; None for all others.
    """

    name: str
    kind: DeviceKind
    chips: int
    replicas: int
    instances: Mapping[int, str] = field(default_factory=dict)
    native_precisions: tuple[str, ...]
    peak_flops_per_second: Mapping[str, float]
    driver_names: tuple[str, ...]
    slice_type: str | None
    source: str
    memory_bytes: float | None = None
    memory_bytes_per_second: float | None = None
    compute_capability: float | None = None
    link_bytes_per_second: float | None = None
    tdp_watts: float | None = None
    cpus: Mapping[int, int] = field(default_factory=dict)
    host_memory_gib: Mapping[int, int] = field(default_factory=dict)
    ray_type: str | None = None
    cloud_type: str | None = None
    runtime: str | None = None
    no_trainer: str | None = None

    @property
    def is_predictable(self) -> bool:
        """True where published steps predict it: none of them is of an AMD GPU, a Trainium or a Gaudi."""
        return self.no_trainer is None and not any(name.startswith("AMD ") for name in self.driver_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """Accelerators of one kind in a machine.

    Attributes:
        chips: resource units of one of them.
        ids: one for each: the UUID of a GPU, the type of a TPU slice.
    """

    kind: DeviceKind
    chips: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine as it was found.

    Attributes:
        cpus: cores that a trial can have.
        devices: name of a device -> the accelerators of this machine that are such devices.
    """

    name: str
    cpus: int
    cpu_model: str
    devices: Mapping[str, Accelerators] = field(default_factory=dict)

    @property
    def host_cpu(self) -> str:
        """The CPU as a trial's id names it."""
        return f"{self.cpu_model} x{self.cpus}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of each device that it holds."""
        return {name: len(accelerators.ids) for name, accelerators in self.devices.items()}

    @property
    def holdings(self) -> str:
        """The accelerators in words."""
        return ", ".join(f"{count} x {name}" for name, count in self.counts.items()) or "no accelerator"


_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
# ray 2.60, ray/_private/accelerators/tpu.py: VALID_TPU_TOPOLOGY; 2x8 left out, which Cloud TPU does not list
_LARGEST = {"v4": (12, 12, 16), "v5p": (16, 16, 24)}
_SMALL_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4")
_TOPOLOGIES = {
    "v2": ("2x2",),
    "v3": ("2x2", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"),
    "v5litepod": _FLAT,
    "v6e": _FLAT,
    "tpu7x": (*_SMALL_CUBES, "4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16", "8x16x16"),
}


def parse_generation(slice_type: str) -> str:
    """`v5litepod` of `v5litepod-8`."""
    return slice_type.partition("-")[0]


def count_chips(topology: str) -> int:
    """Return the number of chips of a slice of that shape: 16 for `4x4`."""
    return prod(int(side) for side in topology.split("x"))


def find_topologies(generation: str) -> tuple[str, ...]:
    """The shapes that a generation's slices may have, the smallest first; none for an unknown one."""
    if generation not in _LARGEST:
        return _TOPOLOGIES.get(generation, ())
    x, y, z = (range(4, largest + 1, 4) for largest in _LARGEST[generation])
    cubes = (f"{i}x{j}x{k}" for i in x for j in y for k in z)
    return (*_SMALL_CUBES, *sorted(cubes, key=count_chips))


def topology_of_host(device: Device) -> str:
    """The shape of the slice that is one host: `2x4` for 8 chips of v5e, `2x2x1` for 4 of v4.

    Raises:
        ConfigError: no slice has so many chips.
    """
    for shape in find_topologies(parse_generation(device.slice_type or "")):
        if count_chips(shape) == device.chips:
            return shape
    raise ConfigError(f"no slice of {device.slice_type} has the {device.chips} chips of {device.name}")


def count_hosts(topology: str, device: Device) -> int:
    """Return the number of such hosts in a slice of that shape.

    Raises:
        ConfigError: a shape that the generation does not have, or that is no whole number of hosts.
    """
    generation = parse_generation(device.slice_type or "")
    topologies = find_topologies(generation)
    if topology not in topologies:
        listed = ", ".join(topologies[:10]) or "none, because it is not a TPU"
        raise ConfigError(f"topology {topology!r} does not exist for {device.name}; possible: {listed}")
    hosts, rest = divmod(count_chips(topology), device.chips)
    if rest or not hosts:
        raise ConfigError(
            f"topology {topology!r} has {count_chips(topology)} chips, "
            f"and a host of {device.name} {device.chips}"
        )
    return hosts
