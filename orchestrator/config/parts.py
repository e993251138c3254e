"""One option of a group, as plain values -> the value of `core/` that a point is made of. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.core.settings import TrainerSettings
from orchestrator.core.spec import Option, TimingSpec, require_positive

_START = tuple(each.name for each in fields(TrainerSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A workload or a trainer: its name, and its knobs that differ from their defaults."""

    name: str
    options: Mapping[str, Option]


def named(plain: Mapping[str, Any], *, defaults: Mapping[str, Any]) -> Named:
    """A knob at its default is left out, so that a knob added later changes no trial_id."""
    knobs = (key for key in plain if key not in ("name", *_START))
    return Named(
        name=plain["name"], options={key: plain[key] for key in knobs if plain[key] != defaults[key]}
    )


def trainer_settings(plain: Mapping[str, Any]) -> TrainerSettings:
    """How a trainer's workers are started, which is no part of a trial."""
    return TrainerSettings(**{key: plain[key] for key in _START})


def device(plain: Mapping[str, Any], *, file_name: str) -> Device:
    """Raises ConfigError unless it is named like its file and has chips and replicas."""
    if plain["name"] != file_name:
        raise ConfigError(
            f"conf/device/{file_name}.yaml: device.name={plain['name']!r} must be {file_name!r}"
        )
    for key in ("chips", "replicas"):
        require_positive(f"conf/device/{file_name}.yaml: device.{key}", plain[key])
    return Device(**plain)


def timing(plain: Mapping[str, Any]) -> TimingSpec:
    """The measurement protocol."""
    return TimingSpec(**plain)
