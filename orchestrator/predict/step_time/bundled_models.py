"""Bundled models: fitted models and condensed profiles, as text files of the package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.core import codec
from orchestrator.core.estimate import ErrorCorrelation
from orchestrator.predict.step_time.analytic import Analytic
from orchestrator.predict.step_time.error_model import ErrorPrior
from orchestrator.predict.step_time.published_rates import PublishedStep, RatedFamily

if TYPE_CHECKING:
    from orchestrator.predict.latency_data.table import LatencyTable

_FILE = "default_models.json"
_PROFILES = "default_profiles.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModels:
    """Fitted knowledge about GPUs without a profile.

    Attributes:
        notice: source of the measurements, and their licence.
        made_by: command that writes the file.
        precision: precision of all measurements.
        prior: deviations between devices, between workloads and between repeats.
        kinship: correlation of a network's errors over devices and over batch sizes.
        devices: name of a file in conf/device -> model fitted to that kind of GPU.
        any_gpu: model fitted to all of them, for the other kinds.
        rated: steps of published rates, for settings without measurements.
        transformers: what the rated steps of transformers say of each other.
    """

    notice: str
    made_by: str
    precision: str
    prior: ErrorPrior
    kinship: ErrorCorrelation
    devices: Mapping[str, Analytic]
    any_gpu: Analytic
    rated: tuple[PublishedStep, ...]
    transformers: RatedFamily


def default_models() -> DefaultModels:
    """Read the bundled models."""
    text = files("orchestrator.predict.step_time").joinpath("data", _FILE).read_text(encoding="utf-8")
    return codec.from_json(DefaultModels, text)


def default_profiles() -> "LatencyTable":
    """Read the condensed profiles of published networks on K80, M60, T4 and V100; their licence lies next to
    them.
    """
    from orchestrator.predict.latency_data.read import read_latencies

    return read_latencies(Path(str(files("orchestrator.predict.step_time").joinpath("data", _PROFILES))))
