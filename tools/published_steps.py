"""All published steps, of every laboratory: what each asks of its device, and how long it took."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from imagenet_rates import NUM_CLASSES, RATES, PublishedRate
from laboratory_rates import laboratory_devices, laboratory_rates
from language_steps import LanguageStep, language_steps
from published_networks import PublishedLatency, build_spec
from recurrent_steps import recurrent_steps
from step_options import build_options
from transformer_rates import TRANSFORMER_RATES, TransformerRate

from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.analytic import Analytic, StepParts
from orchestrator.extensions.predictions.step_time.crossed_effects import Family, PublishedStep, StepLabels
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.registry import cached_workload

PROFET = "PROFET"
PROJECT = "this project"

_MEASURED = Path(__file__).parents[1] / "benchmarks" / "measured"

_PROFET_DEVICES = {"g3s.xlarge": "m60", "g4dn.xlarge": "t4", "p2.xlarge": "k80", "p3.2xlarge": "v100"}
_PROFET_BATCHES = (16, 64, 256)  # of five: the others lie between them

_LABORATORIES: Mapping[str, str] = {
    "llm.c": "Karpathy",
    "modded-nanogpt": "Karpathy",
    "nanoGPT": "Karpathy",
}
"""Source of rates -> who wrote the code, where it is not its first word."""


@dataclass(frozen=True, kw_only=True)
class MeasuredStep:
    """Step that a laboratory measured.

    Attributes:
        query: query of such a step.
        laboratory: who measured it: held out as a whole.
        software: framework and machine, as that laboratory names them.
    """

    query: StepQuery
    laboratory: str
    software: str
    seconds: float

    @cached_property
    def labels(self) -> StepLabels:
        """Labels of its effects."""
        return replace(self.query.own_labels, laboratory=self.laboratory, software=self.software)

    def parts(self, model: Analytic) -> StepParts:
        """Return its parts before all effects. Raises ConfigError for a device without peaks."""
        query = self.query
        parts = query.parts(model)
        if parts is None:
            raise ConfigError(
                f"conf/device/{query.device.name}.yaml: the {query.precision}, memory and link peaks are "
                f"needed, for {self.laboratory} published a rate there"
            )
        return parts


def measured_steps(
    latencies: Sequence[PublishedLatency], *, devices: Mapping[str, Device]
) -> tuple[MeasuredStep, ...]:
    """Return the steps of PROFET, and those of all rates.

    Args:
        devices: name -> device of conf/device.
    """
    known = {**laboratory_devices(), **devices}
    rates = (_of_rate(rate, known[rate.device]) for rate in (*RATES, *laboratory_rates()))
    transformers = (_of_transformer(rate, known[rate.device]) for rate in TRANSFORMER_RATES)
    recurrent, language = _of_recurrent_layers(known), _of_language_models(known)
    profet, own = _of_profet(latencies, known), project_steps(known)
    return (*profet, *rates, *transformers, *recurrent, *language, *own)


def project_steps(devices: Mapping[str, Device]) -> Iterator[MeasuredStep]:
    """Yield the steps that this project measured: of one H100, and of one core of a CPU with its calibration.

    Of batches of one network in one precision, the H100 has steps bound by its host alone.
    """
    calibration = codec.from_json(DeviceBenchmark, (_MEASURED / "cpu_calibration.json").read_text("utf-8"))
    for name in ("h100_steps.csv", "h100_trials.csv", "cpu_steps.csv"):
        with (_MEASURED / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                is_cpu = name.startswith("cpu")
                yield MeasuredStep(
                    query=StepQuery(
                        spec=cached_workload(row["workload"], build_options(row.get("options", ""))),
                        device=devices["cpu" if is_cpu else "h100"],
                        precision=row["precision"],
                        num_workers=1,
                        global_batch_size=int(row["global_batch_size"]),
                        calibration=calibration if is_cpu else None,
                        host_cpu=row["device"] if is_cpu else None,
                    ),
                    laboratory=PROJECT,
                    software=f"PyTorch {row['torch']}",
                    seconds=float(row["step_seconds"]),
                )


def query_of_latency(latency: PublishedLatency, devices: Mapping[str, Device]) -> StepQuery:
    """Build the query of a step of PROFET."""
    return StepQuery(
        spec=build_spec(latency.model, latency.image_size),
        device=devices[_PROFET_DEVICES[latency.device]],
        precision="fp32",
        num_workers=1,
        global_batch_size=latency.batch_size,
    )


def build_query(rate: PublishedRate, device: Device) -> StepQuery:
    """Build the query of the step that a published rate is of."""
    return StepQuery(
        spec=cached_workload(rate.workload, {"image_size": rate.image_size, "num_classes": NUM_CLASSES}),
        device=device,
        precision=rate.precision,
        num_workers=rate.num_workers,
        global_batch_size=rate.global_batch_size,
    )


def query_of_transformer(rate: TransformerRate, device: Device) -> StepQuery:
    """Build the query of the step that a published rate is of."""
    return StepQuery(
        spec=cached_workload(rate.workload, rate.options),
        device=device,
        precision=rate.precision,
        num_workers=rate.num_workers,
        global_batch_size=rate.global_batch_size,
    )


def over_parts(step: MeasuredStep, model: Analytic) -> PublishedStep:
    """Return a step as it is kept: its time over its parts, to four digits."""
    parts = step.parts(model)
    return PublishedStep(
        labels=replace(step.labels, balance=round(step.labels.balance, 4)),
        device_share=round(parts.device_share, 4),
        host_share=round(parts.host_share, 4),
        log=round(math.log(step.seconds / parts.seconds), 4),
    )


def _of_profet(
    latencies: Sequence[PublishedLatency], devices: Mapping[str, Device]
) -> Iterator[MeasuredStep]:
    for latency in latencies:
        if latency.batch_size in _PROFET_BATCHES:
            yield MeasuredStep(
                query=query_of_latency(latency, devices),
                laboratory=PROFET,
                software="TensorFlow 2.5",
                seconds=latency.step_seconds,
            )


def _of_recurrent_layers(devices: Mapping[str, Device]) -> Iterator[MeasuredStep]:
    for step in recurrent_steps():
        yield MeasuredStep(
            query=_LayersQuery(
                spec=step.spec,
                device=devices[step.device],
                precision=step.precision,
                num_workers=1,
                global_batch_size=step.batch_size,
            ),
            laboratory=step.laboratory,
            software=step.software,
            seconds=step.step_seconds,
        )


def _of_language_models(devices: Mapping[str, Device]) -> Iterator[MeasuredStep]:
    for step in language_steps():
        yield MeasuredStep(
            query=query_of_language_model(step, devices[step.device]),
            laboratory=step.laboratory,
            software=step.software,
            seconds=step.seconds,
        )


def query_of_language_model(step: LanguageStep, device: Device) -> StepQuery:
    """Build the query of a step of a language model."""
    return (_OptimizerShardsQuery if step.has_optimizer_shards else StepQuery)(
        spec=step.spec,
        device=device,
        precision=step.precision,
        num_workers=step.num_workers,
        global_batch_size=step.global_batch_size,
        num_hosts=step.num_hosts,
        memory_settings=step.memory_settings,
        network_gbps=step.network_gbps,
        is_compiled=step.precision == "fp8",
    )


class _OptimizerShardsQuery(StepQuery):
    """Query for whole weights of which each replica updates a part."""

    @property
    def update_share(self) -> float:
        """Share of the weights that a replica updates in a pass."""
        return 1 / self.replicas / self.passes


class _LayersQuery(StepQuery):
    """Query for recurrent layers alone."""

    @property
    def family(self) -> Family:
        """Family of these layers, whose spec does not tell it."""
        return "recurrent"


def _of_rate(rate: PublishedRate, device: Device) -> MeasuredStep:
    return MeasuredStep(
        query=build_query(rate, device),
        laboratory=_laboratory_of(rate.source),
        software=rate.source,
        seconds=rate.global_batch_size / rate.samples_per_second,
    )


def _of_transformer(rate: TransformerRate, device: Device) -> MeasuredStep:
    return MeasuredStep(
        query=query_of_transformer(rate, device),
        laboratory=_laboratory_of(rate.source),
        software="Lambda PyTorch" if rate.source == "Lambda" else rate.source,
        seconds=rate.global_batch_size / rate.samples_per_second,
    )


def _laboratory_of(source: str) -> str:
    return _LABORATORIES.get(source, source.split()[0])
