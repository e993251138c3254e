"""Names of cloud instances as devices: `g4dn.xlarge` is a T4, `p3.8xlarge` four V100. Pure."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError

_DEVICE = "device"
_WORKERS = "num_workers"
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceDevice:
    """Devices of one instance."""

    device: str
    count: int


def _sizes(family: str, device: str, counts: Mapping[str, int]) -> dict[str, InstanceDevice]:
    return {f"{family}.{size}": InstanceDevice(device=device, count=count) for size, count in counts.items()}


_ONE = {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "16xlarge": 1}

AWS: Mapping[str, InstanceDevice] = {
    **_sizes("g4dn", "t4", {**_ONE, "12xlarge": 4, "metal": 8}),
    **_sizes("g5", "a10g", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("g6", "l4", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("g6e", "l40s", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("p3", "v100", {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8}),
    **_sizes("p4d", "a100_40", {"24xlarge": 8}),
    **_sizes("p4de", "a100_80", {"24xlarge": 8}),
    **_sizes("p5", "h100", {"4xlarge": 1, "48xlarge": 8}),
    **_sizes("p5e", "h200", {"48xlarge": 8}),
    **_sizes("p5en", "h200", {"48xlarge": 8}),
}
"""GPU instances of AWS, written from memory of its specifications and not checked. p3dn, whose V100 have
32 GB, and instances of other devices are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInstances:
    """Words with devices in place of instances.

    Attributes:
        instances: device -> the name of the instance that was given for it.
    """

    words: tuple[str, ...]
    instances: Mapping[str, str]


def with_devices(words: Sequence[str], devices_of: Callable[[], Mapping[str, Device]]) -> NamedInstances:
    """Replace names of instances in `device=…`; the number of devices in one sets the workers.

    Args:
        devices_of: returns the known devices by name; called only where a value may name an instance.

    Raises:
        ConfigError: an unknown instance, or instances of several numbers of devices together.
    """
    asked = [value for word in words for value in _values_of(word) if _may_name_instance(value)]
    if not asked:
        return NamedInstances(words=tuple(words), instances={})
    devices = devices_of()
    known = {**instances_of(devices.values()), **AWS}
    found = {name: _found(name, known, devices) for name in asked if name not in devices}
    return NamedInstances(
        words=(*(_replaced(word, found) for word in words), *_workers(words, found)),
        instances={one.device: name for name, one in found.items()},
    )


def instances_of(devices: Iterable[Device]) -> dict[str, InstanceDevice]:
    """Return the instances that files of devices name."""
    return {
        name: InstanceDevice(device=device.name, count=count)
        for device in devices
        if device.kind != "cpu"
        for count, name in device.instances.items()
    }


def _values_of(word: str) -> list[str]:
    key, _, value = word.partition("=")
    return value.strip("[]").split(",") if key == _DEVICE else []


def _may_name_instance(value: str) -> bool:
    """Return whether a value has a character that instances have, and shipped devices do not."""
    return "." in value or "-" in value


def _found(name: str, known: Mapping[str, InstanceDevice], devices: Mapping[str, Device]) -> InstanceDevice:
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, [*known, *devices], n=_MOST_NAMED, cutoff=0.5)
    hint = f"nearest: {', '.join(nearest)}; " if nearest else ""
    raise ConfigError(
        f"device={name} is no device or instance; {hint}possible: GPU instances of AWS, those of Google "
        f"Cloud in conf/device, and devices: {', '.join(devices)}"
    )


def _replaced(word: str, found: Mapping[str, InstanceDevice]) -> str:
    values = _values_of(word)
    if not found.keys() & set(values):
        return word
    devices = dict.fromkeys(found[value].device if value in found else value for value in values)
    return f"{_DEVICE}={','.join(devices)}"


def _workers(words: Sequence[str], found: Mapping[str, InstanceDevice]) -> tuple[str, ...]:
    """Return the word for the workers of instances, one per device, if the words say nothing of them."""
    if any(word.partition("=")[0] == _WORKERS for word in words):
        return ()
    others = [value for word in words for value in _values_of(word) if value not in found]
    counts = {one.count for one in found.values()} | ({1} if others else set())
    if len(counts) > 1:
        sizes = ", ".join(f"{name} ({one.count})" for name, one in found.items())
        raise ConfigError(
            f"instances with different numbers of devices need num_workers=N, or a command each: {sizes}"
        )
    (count,) = counts or {1}
    return (f"{_WORKERS}={count}",) if count > 1 else ()
