"""A sweep's configuration and a command line -> combinations of options and values, and a name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

from omegaconf import DictConfig

from orchestrator.config.cluster import find_devices
from orchestrator.config.composer import Composer
from orchestrator.config.device_names import with_canonical_names
from orchestrator.config.error_messages import shown
from orchestrator.config.request import Request, check_axis, check_option, values_of_axis
from orchestrator.config.schema import DEVICES, FOLLOWING_DEVICES
from orchestrator.config.values import frozen, resolved
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.pool import Cluster
from orchestrator.core.sweep import MOST_TRIALS, MOST_UNEQUAL, Point
from orchestrator.execute.machine.inventory import accelerators_here, recognised
from orchestrator.plan.expand import Combination, expand, matches
from workloads.script.command import hash_name, name_command

_MOST_JOBS = 3
_MOST_CHARACTERS = 100  # of a sweep's name
AUTO = "auto"

AvailableDevices = Callable[[], tuple[str, ...]]
"""Function that names the available devices. It may ask drivers, so only `auto` calls it."""


def name_of_jobs(option: str, points: Iterable[Point]) -> str:
    """Name a sweep after its file and its jobs: `single-digits`, `single-train-3f2a91` for a script.

    The name does not depend on values that a command may list: device, precision, batch size, options.
    """
    jobs = tuple(dict.fromkeys(map(_name_job, points)))
    name = "-".join((option, *jobs))
    if len(jobs) <= _MOST_JOBS and len(name) <= _MOST_CHARACTERS:
        return name
    return f"{option}-{len(jobs)}-jobs-{hash_name('-'.join(jobs))}"


def _name_job(point: Point) -> str:
    """Name the workload; of a script the file, with a hash of its command and folder."""
    return name_command(point.workload_options) if point.workload == "script" else point.workload


_NONE_INCLUDED = "sweep.include=null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A sweep with the command line's values, before it is expanded."""

    axes: Mapping[str, tuple[Any, ...]]
    exclude: tuple[Combination, ...]
    include: tuple[Combination, ...]
    baseline: Combination

    def combinations(self) -> tuple[Combination, ...]:
        """Every combination, each with all keys of a point but for those that follow from its `devices`.

        Raises:
            ConfigError: a grid that gives none, a baseline that none of them is, no list of devices, or a
                list where a name belongs.
        """
        of_axes = ((key, value) for key, values in self.axes.items() for value in values)
        included = (item for entry in self.include for item in entry.items())
        for key, value in chain(of_axes, included):
            check_option(key, value)
        expanded = expand(self.axes, exclude=self.exclude, include=self.include)
        for combination in expanded:
            if DEVICES in combination:
                _check_devices(combination[DEVICES])
        if self.baseline and not any(matches(combination, self.baseline) for combination in expanded):
            raise ConfigError(_no_baseline(self.baseline, expanded))
        return expanded


def build_grid(
    sweep: DictConfig,
    request: Request,
    *,
    base: Mapping[str, Any],
    available: AvailableDevices,
    build_name: Callable[[str], str],
) -> Grid:
    """Put the grid together: the sweep's axes, the command line's choices, and one value of every other key.

    Args:
        base: key of a point -> its value if neither sweep nor command line has one.
        available: names the devices that `auto` stands for.
        build_name: name of a device -> the name of its file.

    Raises:
        ConfigError: a part of the sweep that has another shape, or names an axis that points do not have;
            more combinations than a sweep may have trials.
    """
    plain = with_canonical_names(resolved(sweep), build_name)
    common = _checked(plain["common"] or {}, where="sweep.common")
    axes = {**_axes(plain["grid"], dropped=request.dropped), **request.axes}
    chosen = _with_devices(request.choices, available)
    choices = _with_devices({**axes, **chosen}, available)
    single = {key: values[0] if len(values) == 1 else values for key, values in choices.items()}
    cures = {axis: f"~sweep.grid.{axis}" for axis in axes if axis not in request.choices}
    fixed = _completed({**common, **single}, base, cures=cures) if axes else {}
    unsaid = {key: (value,) for key, value in fixed.items() if key not in choices}
    entries = tuple(
        {**entry, **devices}
        for entry in _entries(plain["include"], where="sweep.include")
        for devices in _products(
            _with_devices({key: (value,) for key, value in entry.items() if key == "device"}, available)
        )
    )
    _refuse_too_many(choices, num_included=len(entries) * _size(chosen))
    included = dict.fromkeys({key for entry in entries for key in entry} - {*request.choices}, _NONE_INCLUDED)
    include = [
        _completed({**common, **entry, **choice}, base, cures=included)
        for entry in entries
        for choice in _products(chosen)
    ]
    return Grid(
        axes={**choices, **unsaid} if axes else {},
        exclude=tuple(_entries(plain["exclude"], where="sweep.exclude")),
        include=tuple(include),
        baseline=_baseline(plain["baseline"]),
    )


def _with_devices(axes: Mapping[str, Any], available: AvailableDevices) -> dict[str, tuple[Any, ...]]:
    """Replace `auto` in the axis `device`, if there is one."""
    if "device" not in axes:
        return dict(axes)
    return {**axes, "device": with_available(axes["device"], available)}


def _completed(
    choices: Mapping[str, Any], base: Mapping[str, Any], *, cures: Mapping[str, str]
) -> dict[str, Any]:
    """Fill every missing key with the base's value.

    Args:
        cures: key of the sweep -> the word that removes it.

    Raises:
        ConfigError: `devices` beside what follows from them.
    """
    if DEVICES not in choices:
        return {**base, **choices}
    for key in FOLLOWING_DEVICES:
        if key in choices:
            cure = f", as {cures[key]} does" if key in cures else ""
            raise ConfigError(
                f"{DEVICES}={shown(choices[DEVICES])} and {key}={shown(choices[key])} exclude each other; "
                f"{DEVICES} names the device of every worker, so remove {key}{cure}"
            )
    return {**{key: value for key, value in base.items() if key not in FOLLOWING_DEVICES}, **choices}


def _check_devices(devices: Any) -> None:
    if (
        not isinstance(devices, tuple)
        or not all(isinstance(device, str) for device in devices)
        or not devices
    ):
        raise ConfigError(
            f"{DEVICES}={shown(devices)} must be a list with the device of each worker, as "
            f"{DEVICES}=[cpu,t4]; an axis in a file is a list of such lists, as [[cpu,t4]]"
        )
    if len(devices) > MOST_UNEQUAL:
        raise ConfigError(
            f"{DEVICES} names {len(devices)} devices, and a trial has at most {MOST_UNEQUAL} that are told "
            f"one by one; for more that are alike set device=NAME and num_workers=NUMBER"
        )


def _refuse_too_many(axes: Mapping[str, Sized], *, num_included: int) -> None:
    """Refuse too many combinations before any is made; a large product of axes is quickly typed."""
    count = _size(axes) + num_included
    if count > MOST_TRIALS:
        sizes = " x ".join(f"{len(values):,} {axis}" for axis, values in axes.items() if len(values) > 1)
        raise ConfigError(
            f"the sweep has {count:,} combinations ({sizes}, {num_included:,} included); "
            f"a sweep has at most {MOST_TRIALS:,} trials"
        )


def _size(axes: Mapping[str, Sized]) -> int:
    return prod(map(len, axes.values()))


def _axes(grid: Any, *, dropped: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    axes = {key: values_of_axis(value) for key, value in _checked(grid or {}, where="sweep.grid").items()}
    for key in dropped:
        if axes.pop(key, None) is None:
            raise UnknownNameError("axis in sweep.grid", key, known=axes)
    return axes


def _entries(entries: Any, *, where: str) -> Iterator[dict[str, Any]]:
    if entries is None:
        return
    if not isinstance(entries, list):
        raise ConfigError(f"{where}={entries!r} must be a list of mappings from axis to value")
    for entry in entries:
        yield _checked(entry, where=where)


def _baseline(entry: Any) -> dict[str, Any]:
    """Return the setting that every other one is compared with; empty where the sweep names none."""
    baseline = _checked(entry or {}, where="sweep.baseline")
    for key, value in baseline.items():
        if isinstance(value, tuple) and (key != DEVICES or any(isinstance(item, tuple) for item in value)):
            raise ConfigError(f"sweep.baseline: {key}={shown(value)} must be one value")
    return baseline


def _no_baseline(baseline: Combination, combinations: Iterable[Combination]) -> str:
    for key, value in baseline.items():
        present = dict.fromkeys(combination[key] for combination in combinations if key in combination)
        if value not in present:
            values = ", ".join(map(shown, present)) or "none"
            return (
                f"sweep.baseline: {key}={shown(value)} is not a point of this sweep; possible: {values}; "
                "choose one of them, or sweep.baseline=null"
            )
    named = ", ".join(f"{key}={shown(value)}" for key, value in baseline.items())
    return (
        f"sweep.baseline: no point of this sweep has {named} together; "
        "add it to the grid, or set sweep.baseline=null"
    )


def _checked(entry: Any, *, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: {entry!r} must be a mapping from axis to value")
    for key, value in entry.items():
        check_axis(str(key), value, where=where)
    return {str(key): frozen(value) for key, value in entry.items()}


def _products(choices: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def known_devices(composer: Composer) -> Mapping[str, Device]:
    """Return all devices of `conf/device/`, the user's and the shipped ones."""
    return find_devices(composer.nodes({"device": composer.options("device")}))


def available_devices(composer: Composer, cluster: Cluster | None) -> tuple[str, ...]:
    """Name the devices of a cluster's pools; without a cluster, the CPU and this host's accelerators.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the GPUs' driver fails.
    """
    if cluster is not None:
        return tuple(dict.fromkeys(pool.device.name for pool in cluster.available_pools))
    accelerators = accelerators_here()
    if not accelerators.gpus and not accelerators.slice_type:
        return ("cpu",)
    return ("cpu", *recognised(known_devices(composer).values(), accelerators))


def with_available(values: Iterable[Any], available: AvailableDevices) -> tuple[Any, ...]:
    """Replace `auto` among the values of the axis `device`; a device that is named twice counts once."""
    named = tuple(values)
    if AUTO not in named:
        return named
    replaced = (device for value in named for device in (available() if value == AUTO else (value,)))
    return tuple(dict.fromkeys(replaced))
