"""The fitted models that travel with the repository: a text file, its licence notice, and what makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.predict.analytic import Analytic, Measured, fit_analytic
from orchestrator.predict.condense import condensed
from orchestrator.predict.latency import LatencyTable
from orchestrator.predict.read import read_latencies
from orchestrator.predict.zoo import PUBLISHED_DEVICES, measured_zoo

_FILE = "default_models.json"
_PROFILES = "default_profiles.csv"
_NOTICE = (
    "Fitted to measurements published with PROFET (Lee, Hur, Park and Lee 2022), ddps-lab/profet @e69477f, "
    "MIT License, Copyright (c) 2021 anonymous-profet"
)
_MADE_BY = "python -m orchestrator predict fit data=$ORCHESTRATOR_DATA/profet"
_FEWEST_DEVICES = 2  # to hold one out


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModels:
    """What is known of GPUs without a profile.

    Attributes:
        notice: whose measurements these are, and their licence.
        made_by: the command that makes the file.
        precision: of all of them.
        devices: name of a file in conf/device -> fitted to that kind of GPU.
        any_gpu: fitted to all of them, for the other kinds.
    """

    notice: str
    made_by: str
    precision: str
    devices: Mapping[str, Analytic]
    any_gpu: Analytic


def default_models() -> DefaultModels:
    """Those of the repository."""
    text = files("orchestrator.predict").joinpath(_FILE).read_text(encoding="utf-8")
    return codec.from_json(DefaultModels, text)


def default_profiles() -> LatencyTable:
    """Of the published networks on K80, M60, T4 and V100, condensed; the licence lies beside them."""
    return read_latencies(Path(str(files("orchestrator.predict").joinpath(_PROFILES))))


def condensed_profiles(table: LatencyTable) -> str:
    """The text of that file. Devices have the names of `conf/device/`, or would have."""
    return condensed(table, names={each: found.gpu.lower() for each, found in PUBLISHED_DEVICES.items()})


def fit_default_models(table: LatencyTable) -> DefaultModels:
    """Of a table with the published networks on the published devices.

    Raises:
        ConfigError: too few of them.
    """
    measured = list(measured_zoo(table))
    instances = sorted({each.device for each in measured})
    if len(instances) < _FEWEST_DEVICES or len({each.model for each in measured}) < _FEWEST_DEVICES:
        raise ConfigError(f"{table.source}: two devices and two networks are needed at least")
    gpus = ", ".join(PUBLISHED_DEVICES[each].gpu for each in instances)
    named = {name: each for each in instances if (name := PUBLISHED_DEVICES[each].name) is not None}
    return DefaultModels(
        notice=_NOTICE,
        made_by=_MADE_BY,
        precision="fp32",
        devices={name: _fit_one(measured, instance) for name, instance in named.items()},
        any_gpu=fit_analytic(measured, for_new_devices=True, source=f"rough: fitted to other GPUs ({gpus})"),
    )


def _fit_one(measured: Sequence[Measured], instance: str) -> Analytic:
    own = [each for each in measured if each.device == instance]
    gpu = PUBLISHED_DEVICES[instance].gpu
    return fit_analytic(own, for_new_devices=False, source=f"fitted to {gpu}, {instance}")
