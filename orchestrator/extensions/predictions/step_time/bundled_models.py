"""Bundled models: fitted models, as text files of the package."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from orchestrator.core import codec
from orchestrator.core.estimate import ErrorCorrelation
from orchestrator.extensions.predictions.step_time.analytic import Analytic, DevicePeaks
from orchestrator.extensions.predictions.step_time.basis import BasisKind, HitTable, OwnKind
from orchestrator.extensions.predictions.step_time.crossed_effects import CrossedEffects, PublishedStep
from orchestrator.extensions.predictions.step_time.error_model import ErrorPrior

_FILE = "default_models.json"
_HITS = "past_hits.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSizes:
    """Name of a count of `StepCost` -> its smallest and largest value on one replica, of all that was
    published.
    """

    least: Mapping[str, float]
    most: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class DefaultModels:
    """Fitted knowledge about steps on accelerators.

    Attributes:
        notice: source of the measurements, and their licence.
        made_by: command that writes the file.
        prior: deviations between devices, between workloads and between repeats.
        kinship: correlation of a network's errors over devices and over batch sizes.
        parts: coefficients of the parts of a step.
        deviations: name of a crossed effect, or `residual` -> its standard deviation.
        quantile: deviations to both sides that hold 90% of the steps of a laboratory held out.
        sizes: family of networks, or `unlike` -> sizes of its published steps.
        devices: peaks of all devices of conf/device that have some.
        steps: published steps over their parts.
    """

    notice: str
    made_by: str
    prior: ErrorPrior
    kinship: ErrorCorrelation
    parts: Analytic
    deviations: Mapping[str, float]
    quantile: float
    sizes: Mapping[str, PublishedSizes]
    devices: tuple[DevicePeaks, ...]
    steps: tuple[PublishedStep, ...]

    @cached_property
    def effects(self) -> CrossedEffects:
        """Crossed effects of the published steps."""
        return CrossedEffects(self.steps, self.deviations)


@cache
def default_models() -> DefaultModels:
    """Read the bundled models."""
    text = (
        files("orchestrator.extensions.predictions.step_time")
        .joinpath("data", _FILE)
        .read_text(encoding="utf-8")
    )
    return codec.from_json(DefaultModels, text)


@cache
def _hit_table() -> HitTable:
    text = (
        files("orchestrator.extensions.predictions.step_time")
        .joinpath("data", _HITS)
        .read_text(encoding="utf-8")
    )
    return codec.from_json(HitTable, text)


def past_hits(kind: BasisKind | OwnKind) -> str:
    """Describe how good predictions of a kind were; empty where none was tested."""
    hits = _hit_table().hits.get(kind)
    return "" if hits is None else str(hits)
