"""Names that people and clouds give a device -> the device and how many: `g4dn.xlarge` is a T4. Pure."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.device import Device, count_chips, find_topologies
from orchestrator.core.errors import ConfigError

_DEVICE = "device"
_KEYS = (_DEVICE, "devices", "sweep.grid.device", "sweep.grid.devices")
_WORKERS = "num_workers"
_MOST_NAMED = 6
_CHIPS_OF_A_SLICES_HOST = 4
"""Chips of each host of a slice with several, also where a generation has single hosts of 8."""
_NO_NAMES = frozenset({"auto", ""})

_TOKEN = re.compile(r"[^,\[\]]+")
_SEPARATORS = re.compile(r"[-_\s]")
_GIB = re.compile(r"(?<=\d)gi?b$")
_MAKERS = re.compile(r"^(?:nvidia|google|cloud|amd|intel|aws)?(?:tesla|geforce|tpu|instinct)?(?:rtx)?(?=.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDevice:
    """Devices that a name means.

    Attributes:
        is_instance: the name is that of a machine to rent.
    """

    device: str
    count: int = 1
    is_instance: bool = False


def _sizes(family: str, device: str, counts: Mapping[str, int]) -> dict[str, NamedDevice]:
    return {
        f"{family}.{size}": NamedDevice(device=device, count=count, is_instance=True)
        for size, count in counts.items()
    }


_ONE = {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "16xlarge": 1}

AWS: Mapping[str, NamedDevice] = {
    **_sizes("g4dn", "t4", {**_ONE, "12xlarge": 4, "metal": 8}),
    **_sizes("g5", "a10g", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("g6", "l4", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("g6e", "l40s", {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}),
    **_sizes("p3", "v100", {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8}),
    **_sizes("p3dn", "v100_32", {"24xlarge": 8}),
    **_sizes("p4d", "a100_40", {"24xlarge": 8}),
    **_sizes("p4de", "a100_80", {"24xlarge": 8}),
    **_sizes("p5", "h100", {"4xlarge": 1, "48xlarge": 8}),
    **_sizes("p5e", "h200", {"48xlarge": 8}),
    **_sizes("p5en", "h200", {"48xlarge": 8}),
    **_sizes("p6-b200", "b200", {"48xlarge": 8}),
    **_sizes("trn2", "trainium2", {"3xlarge": 1, "48xlarge": 16}),
}
"""Instances of AWS with accelerators, written from memory of its specifications and not checked. Instances of
other devices are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalWords:
    """Words of a command line with the names of device files.

    Attributes:
        instances: device -> the name of the instance that was given for it.
    """

    words: tuple[str, ...]
    instances: Mapping[str, str]


def find_device(name: str, devices: Mapping[str, Device]) -> NamedDevice | None:
    """Return what a name means, without regard to case, `-`, `_`, blanks and the maker; None: unknown.

    Args:
        devices: the known devices by name.

    Raises:
        ConfigError: it may be any of several devices.
    """
    if name in devices:
        return NamedDevice(device=name)
    for aliases, key in _tables(name, devices):
        found = {meant for alias, meant in aliases if alias == key}
        if len(found) > 1:
            raise ConfigError(f"device {name!r} may be {_listed(found)}; name one of them")
        for meant in found:
            return meant
    return None


def _tables(
    name: str, devices: Mapping[str, Device]
) -> Iterator[tuple[Sequence[tuple[str, NamedDevice]], str]]:
    """Yield names and what they mean, the most exact first, each with the key to look for."""
    plain, bare = _plain(name), _bare(name)
    known = {**find_instances(devices.values()), **AWS, **list_slices(devices.values())}
    yield [(_plain(alias), meant) for alias, meant in known.items() if meant.device in devices], plain
    named = [(device, NamedDevice(device=device)) for device in devices]
    yield [(_plain(alias), meant) for alias, meant in named], plain
    official = [
        (alias, NamedDevice(device=device.name)) for device in devices.values() for alias in _aliases(device)
    ]
    yield [(_plain(alias), meant) for alias, meant in official], plain
    yield [(_bare(alias), meant) for alias, meant in named], bare
    yield [*_families(devices)], bare
    yield [(_bare(alias), meant) for alias, meant in official], bare


def _plain(name: str) -> str:
    return _GIB.sub("", _SEPARATORS.sub("", name.lower()))


def _bare(name: str) -> str:
    return _MAKERS.sub("", _plain(name))


def _aliases(device: Device) -> Iterator[str]:
    """Yield other names of a device; the driver of a TPU does not report how many chips a slice has."""
    yield from device.driver_names if device.kind == "gpu" else ()
    yield from filter(None, (device.cloud_type, device.slice_type))


def _families(devices: Iterable[str]) -> Iterator[tuple[str, NamedDevice]]:
    """Yield the first parts of names that several devices have: `a100` of `a100_40` and `a100_80`."""
    members: dict[str, list[str]] = {}
    for device in devices:
        parts = device.split("_")
        for end in range(1, len(parts)):
            members.setdefault(_bare("_".join(parts[:end])), []).append(device)
    for family, names in members.items():
        if len(names) > 1:
            yield from ((family, NamedDevice(device=name)) for name in names)


def _listed(meanings: Iterable[NamedDevice]) -> str:
    *first, last = sorted(meant.device for meant in meanings)
    return f"{', '.join(first)} or {last}"


def canonical_words(
    words: Sequence[str], options: Collection[str], find_devices: Callable[[], Mapping[str, Device]]
) -> CanonicalWords:
    """Replace names of devices and instances; the number of devices in an instance sets the workers.

    Args:
        options: names of device files, which stay as they are.
        find_devices: returns the known devices by name; called only where a word has another name.

    Raises:
        ConfigError: an unknown instance, a name of several devices, or instances of several numbers of
            devices together.
    """
    asked = {name for word in words for name in _names_in(word) if name not in options}
    devices = find_devices() if asked else {}
    found = {name: meant for name in asked if (meant := _found(name, devices))}
    for word in words:
        if not word.startswith(f"{_DEVICE}="):
            for name in _names_in(word):
                _require_one(name, found.get(name))
    return CanonicalWords(
        words=(*(_replaced(word, found) for word in words), *_workers(words, found)),
        instances={meant.device: name for name, meant in found.items() if meant.is_instance},
    )


def with_canonical_names(plain: Any, build_name: Callable[[str], str]) -> Any:
    """Replace the names of devices in plain values of a config file, at the keys `device` and `devices`."""
    if isinstance(plain, dict):
        return {
            key: _renamed(value, build_name) if key in _KEYS else with_canonical_names(value, build_name)
            for key, value in plain.items()
        }
    return [with_canonical_names(item, build_name) for item in plain] if isinstance(plain, list) else plain


def canonical_name(
    name: str, options: Collection[str], find_devices: Callable[[], Mapping[str, Device]]
) -> str:
    """Return the name of the device's file; an unknown name as it is.

    Raises:
        ConfigError: a name of several devices, or of an instance with several.
    """
    if name in options or name in _NO_NAMES:
        return name
    meant = find_device(name, find_devices())
    _require_one(name, meant)
    return meant.device if meant else name


def find_instances(devices: Iterable[Device]) -> dict[str, NamedDevice]:
    """Return the instances that files of devices name."""
    return {
        name: NamedDevice(device=device.name, count=count, is_instance=True)
        for device in devices
        if device.kind != "cpu"
        for count, name in device.instances.items()
    }


def list_slices(devices: Collection[Device]) -> dict[str, NamedDevice]:
    """Return the slices of TPUs that no single host has: `v6e-16` and `v5e-16` have four."""
    of_one_host = {device.slice_type for device in devices}
    found: dict[str, NamedDevice] = {}
    for device in devices:
        generation, _, number = (device.slice_type or "").partition("-")
        if device.chips != _CHIPS_OF_A_SLICES_HOST or not number.isdecimal():
            continue
        for chips in {count_chips(shape) for shape in find_topologies(generation)}:
            size = int(number) // device.chips * chips
            if chips > device.chips and f"{generation}-{size}" not in of_one_host:
                meant = NamedDevice(device=device.name, count=chips // device.chips, is_instance=True)
                found |= {f"{name}-{size}": meant for name in (generation, device.name.split("_")[1])}
    return found


def _renamed(value: Any, build_name: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_renamed(item, build_name) for item in value]
    return build_name(value) if isinstance(value, str) else value


def _names_in(word: str) -> list[str]:
    """Return the names in a word about devices; none where Hydra's functions or references make them."""
    key, _, value = word.lstrip("+").partition("=")
    if key not in _KEYS or "(" in value or "$" in value:
        return []
    return [name for token in _TOKEN.findall(value) if (name := _unquoted(token)) not in _NO_NAMES]


def _found(name: str, devices: Mapping[str, Device]) -> NamedDevice | None:
    meant = find_device(name, devices)
    if meant or not ("." in name or "-" in name):
        return meant  # a name that no file has is refused where files are looked for
    known = [*find_instances(devices.values()), *AWS, *list_slices(devices.values()), *devices]
    nearest = difflib.get_close_matches(name, known, n=_MOST_NAMED, cutoff=0.5)
    hint = f"nearest: {', '.join(nearest)}; " if nearest else ""
    raise ConfigError(
        f"device={name} is no device or instance; {hint}possible: instances of AWS with accelerators, "
        f"those of Google Cloud in conf/device, and devices: {', '.join(devices)}"
    )


def _require_one(name: str, meant: NamedDevice | None) -> None:
    if meant and meant.count > 1:
        raise ConfigError(
            f"{name} has {meant.count} x {meant.device}; write device {meant.device} and "
            f"{_WORKERS} {meant.count} here"
        )


def _replaced(word: str, found: Mapping[str, NamedDevice]) -> str:
    names = _names_in(word)
    if not found.keys() & set(names):
        return word
    key, _, value = word.partition("=")
    meant = {name: found[name].device if name in found else name for name in names}
    if "[" not in value:
        return f"{key}={','.join(dict.fromkeys(meant[name] for name in names))}"
    return f"{key}={_TOKEN.sub(lambda token: meant.get(_unquoted(token[0]), token[0]), value)}"


def _unquoted(token: str) -> str:
    return token.strip(" '\"")


def _workers(words: Sequence[str], found: Mapping[str, NamedDevice]) -> tuple[str, ...]:
    """Return the word for the workers of instances, one per device, if the words have none."""
    if any(word.partition("=")[0] == _WORKERS for word in words):
        return ()
    values = [name for word in words if word.startswith(f"{_DEVICE}=") for name in _names_in(word)]
    counts = {found[name].count if name in found else 1 for name in values}
    if len(counts) > 1:
        sizes = ", ".join(f"{name} ({found[name].count})" for name in values if name in found)
        raise ConfigError(
            f"instances with different numbers of devices need num_workers=N, or a command each: {sizes}"
        )
    (count,) = counts or {1}
    return (f"{_WORKERS}={count}",) if count > 1 else ()
