"""Combinations of options and values -> points; each part that points share is converted once."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from omegaconf import DictConfig

from orchestrator.config.error_messages import shown
from orchestrator.config.options import GroupOptions
from orchestrator.config.schema import DEVICES, POINT_GROUPS, POINT_KEYS
from orchestrator.config.values import MOST, assign, convert_to_plain, knows, load_defaults, read_value
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.core.settings import TrainerSettings
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import MEMORY_KEYS, MemorySettings, Option, TimingSpec, require_positive
from orchestrator.plan.expand import Combination, matches
from orchestrator.train.registry import trainer_info

_START = tuple(field_.name for field_ in fields(TrainerSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A workload or a trainer: its name, and its knobs that differ from their defaults."""

    name: str
    options: Mapping[str, Option]


class PointMaker:
    """Maker of points, which also collects the settings of their trainers.

    Args:
        base: the whole configuration, for interpolations to look into; it is written over.
        options: every option that a combination names.
        knobs: dotted keys that combinations have beside groups and top-level keys.
        label: the keys in which points differ.
        baseline: values of the points that all others are compared with; empty where there are none.
    """

    def __init__(
        self,
        base: DictConfig,
        options: GroupOptions,
        *,
        knobs: Sequence[str],
        label: Sequence[str],
        baseline: Combination,
    ) -> None:
        self.trainers: dict[str, TrainerSettings] = {}
        self._base = base
        self._options = options
        self._label = label
        self._baseline = baseline
        self._knobs = {key: _find_knobs(key[0], config, knobs) for key, config in options.items()}
        self._parts: dict[tuple[str, Any, tuple[tuple[str, Any], ...]], Any] = {}
        self._scalars: dict[tuple[str, Any], Any] = {}

    def points(self, combinations: Iterable[Combination]) -> tuple[Point, ...]:
        """Return the points, each once, however many combinations come to it."""
        distinct: dict[object, Point] = {}
        for combination in combinations:
            point = self._point(combination)
            distinct.setdefault(_identity(point), point)
        return tuple(distinct.values())

    def _point(self, combination: Combination) -> Point:
        workload: Named = self._part("workload", combination)
        trainer: Named = self._part("trainer", combination)
        groups = [group for group in POINT_GROUPS if group in combination]
        knobs = {key for group in groups for key in self._knobs[group, str(combination[group])]}
        return Point(
            workload=workload.name,
            workload_options=workload.options,
            trainer=trainer.name,
            trainer_options=trainer.options,
            **self._hardware(combination),
            precision=self._part("precision", combination),
            data_source=self._part("data", combination),
            timing=self._part("measure", combination),
            label={
                key: combination[key]
                for key in self._label
                if key in combination and ("." not in key or key in knobs)
            },
            is_baseline=bool(self._baseline) and matches(combination, self._baseline),
            deals_batches=trainer_info(trainer.name).deals_batches,
            **self._values(combination, set(POINT_KEYS) - set(MEMORY_KEYS)),
            memory_settings=MemorySettings(**self._values(combination, MEMORY_KEYS)),
        )

    def _values(self, combination: Combination, keys: Iterable[str]) -> dict[str, Any]:
        return {key: self._typed(key, combination[key]) for key in keys if key in combination}

    def _hardware(self, combination: Combination) -> dict[str, Any]:
        """Return device, other devices and number of workers; a list of equal devices has no others."""
        if DEVICES not in combination:
            return {"device": self._part("device", combination)}
        names: Any = combination[DEVICES]
        first, *others = (self._named("device", name, combination) for name in names)
        return {
            "device": first,
            "other_devices": tuple(others) if any(other != first for other in others) else (),
            "num_workers": 1 + len(others),
        }

    def _part(self, group: str, combination: Combination) -> Any:
        return self._named(group, str(combination[group]), combination)

    def _named(self, group: str, option: str, combination: Combination) -> Any:
        values = tuple((key, combination[key]) for key in self._knobs[group, option] if key in combination)
        chosen = (group, option, values)
        if chosen not in self._parts:
            self._parts[chosen] = self._convert(group, option, values)
        return self._parts[chosen]

    def _convert(self, group: str, option: str, values: Iterable[tuple[str, Any]]) -> Any:
        self._base[group] = self._options[group, option]
        for key, value in values:
            assign(self._base, key, value)
        config = self._base[group]
        plain = convert_to_plain(config, group=group, file=f"conf/{group}/{option}.yaml")
        if group == "trainer":
            self._start(plain)
        return _CONVERTED[group](plain, config, option)

    def _start(self, plain: Mapping[str, Any]) -> None:
        name, settings = plain["name"], TrainerSettings(**{key: plain[key] for key in _START})
        if self.trainers.setdefault(name, settings) != settings:
            raise ConfigError(
                f"trainer.python and trainer.start_method hold for the whole command; "
                f"this sweep starts {name} in two ways"
            )

    def _typed(self, key: str, value: Any) -> Any:
        if type(value) is int and abs(value) <= MOST:  # every key of a point is one; a sweep has many seeds
            return value
        if (key, value) not in self._scalars:
            assign(self._base, key, value)
            self._scalars[key, value] = read_value(self._base, key)
        return self._scalars[key, value]


def _find_knobs(group: str, config: DictConfig, knobs: Iterable[str]) -> tuple[str, ...]:
    """Return the workload options that this workload has."""
    pairs = ((knob, knob.partition(".")) for knob in knobs)
    return tuple(knob for knob, (of_group, _, key) in pairs if of_group == group and knows(config, key))


def _identity(point: Point) -> object:
    """Return the identity of a point, without its labels."""
    return (
        point.workload,
        frozenset(point.workload_options.items()),
        point.trainer,
        frozenset(point.trainer_options.items()),
        point.device_label,
        point.precision,
        point.data_source,
        point.timing,
        point.memory_settings,
        *(getattr(point, key) for key in POINT_KEYS if key not in MEMORY_KEYS),
    )


def build_named(plain: Mapping[str, Any], *, defaults: Mapping[str, Any], apart: Iterable[str] = ()) -> Named:
    """Leave out a knob at its default, so that a knob added later changes no trial_id.

    Args:
        apart: keys that are no knobs.
    """
    knobs = (key for key in plain if key not in ("name", *apart))
    return Named(
        name=plain["name"], options={key: plain[key] for key in knobs if plain[key] != defaults[key]}
    )


def load_device(plain: Mapping[str, Any], *, file_name: str) -> Device:
    """Raises ConfigError unless it is named like its file, and every figure and count is one above 0."""
    file = f"conf/device/{file_name}.yaml"
    if plain["name"] != file_name:
        raise ConfigError(f"{file}: device.name={plain['name']!r} must be {file_name!r}")
    for key in ("chips", "replicas"):
        require_positive(f"{file}: device.{key}", plain[key])
    for key in ("instances", "cpus"):
        for count in plain[key]:
            require_positive(f"{file}: a count in device.{key}", count)
    for count, instance in plain["instances"].items():
        if not isinstance(instance, str):
            raise ConfigError(f"{file}: device.instances.{count}={shown(instance)} must be a text")
    for key, figure in _list_figures(plain):
        _require_figure(f"{file}: device.{key}", figure)
    return Device(**plain)


def _list_figures(plain: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a device's file with their keys."""
    for key in ("memory_bytes", "memory_bytes_per_second", "link_bytes_per_second", "tdp_watts"):
        if plain[key] is not None:
            yield key, plain[key]
    for key in ("peak_flops_per_second", "cpus"):
        for name, figure in plain[key].items():
            yield f"{key}.{name}", figure


def _require_figure(name: str, value: Any) -> None:
    """OmegaConf checks no lists in the place of a mapping's values."""
    if not isinstance(value, (int, float)):
        raise ConfigError(f"{name}={shown(value)} must be a number")
    if not 0 < value < math.inf:
        raise ConfigError(f"{name}={value} must be above 0 and finite")


_CONVERTED: Mapping[str, Callable[[Mapping[str, Any], DictConfig, str], Any]] = {
    "workload": lambda plain, config, _: build_named(plain, defaults=load_defaults(config)),
    "trainer": lambda plain, config, _: build_named(plain, defaults=load_defaults(config), apart=_START),
    "device": lambda plain, _, option: load_device(plain, file_name=option),
    "precision": lambda plain, *_: plain["name"],
    "data": lambda plain, *_: plain["source"],
    "measure": lambda plain, *_: TimingSpec(**plain),
}
"""Group -> what its part is made of: (plain values, their configuration, name of the option) -> part."""
