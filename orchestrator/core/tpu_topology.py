"""Slices of TPUs: which shapes there are, how many chips and hosts each has. Pure."""

from math import prod

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError

_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
# ray 2.60, ray/_private/accelerators/tpu.py: VALID_TPU_TOPOLOGY; 2x8 left out, which Cloud TPU does not list
_LARGEST = {"v4": (12, 12, 16), "v5p": (16, 16, 24)}
_SMALL_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4")
_TOPOLOGIES = {
    "v2": ("2x2",),
    "v3": ("2x2", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"),
    "v5litepod": _FLAT,
    "v6e": _FLAT,
    "tpu7x": ("2x2x1",),  # one host; larger ones were not looked up
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
