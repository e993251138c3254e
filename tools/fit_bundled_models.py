"""Fit the bundled models to published measurements, and print their file as JSON.

    python tools/fit_bundled_models.py $ORCHESTRATOR_DATA/profet > default_models.json

The package reads the file from orchestrator/extensions/predictions/step_time/data/.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from effect_fitting import fit_deviations, fit_parts, fit_quantile
from latency_tool import print_converted
from model_fitting import errors_by_device, fit_kinship, fit_prior
from published_networks import measured_zoo, repeat_deviation
from published_steps import MeasuredStep, measured_steps, over_parts

from orchestrator.config.cluster import load_cluster
from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.extensions.predictions.step_time.analytic import COUNTS, peaks_at_work
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels, PublishedSizes
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable

_NOTICE = (
    "Fitted to measurements published with PROFET (Lee, Hur, Park and Lee 2022), ddps-lab/profet @e69477f, "
    "MIT License, Copyright (c) 2021 anonymous-profet; with DeepBench (Baidu Research), Apache License 2.0; "
    "rates published by NVIDIA, Lambda, MosaicML, BAAI and others, and for MLPerf: tools/imagenet_rates.py, "
    "tools/laboratory_rates.py, tools/language_steps.py, tools/recurrent_steps.py, "
    "tools/transformer_rates.py; steps of an H100 and of a CPU measured by this project: benchmarks/measured/"
)
_MADE_BY = "python tools/fit_bundled_models.py $ORCHESTRATOR_DATA/profet"
_MIN_COUNT = 2  # of devices, and of networks on each: one is held out


def fit_default_models(table: LatencyTable, *, devices: Mapping[str, Device]) -> DefaultModels:
    """Fit the default models to a table of the published networks on the published devices.

    Args:
        devices: name -> device of conf/device.

    Raises:
        ConfigError: too few devices or networks, or a device of a published rate without its peaks.
    """
    latencies = list(measured_zoo(table))
    networks = Counter(device for device, _ in {(latency.device, latency.model) for latency in latencies})
    if min(len(networks), *networks.values()) < _MIN_COUNT:
        raise ConfigError(f"{table.source}: at least two devices are needed, with two networks on each")
    prior = fit_prior(latencies, repeat=repeat_deviation(table))
    measured = measured_steps(latencies, devices=devices)
    parts = fit_parts(measured)
    steps = tuple(over_parts(step, parts) for step in measured)
    deviations = fit_deviations(steps)
    return DefaultModels(
        notice=_NOTICE,
        made_by=_MADE_BY,
        prior=prior,
        kinship=fit_kinship(errors_by_device(latencies)),
        parts=parts,
        deviations=deviations,
        quantile=fit_quantile(steps, deviations),
        sizes=_sizes_of(measured),
        devices=tuple(
            peaks_at_work(device)
            for _, device in sorted(devices.items())
            if device.kind != "cpu" and device.is_predictable
        ),
        steps=steps,
    )


def _sizes_of(measured: Iterable[MeasuredStep]) -> Mapping[str, PublishedSizes]:
    families: dict[str, list[MeasuredStep]] = defaultdict(list)
    for step in measured:
        families[step.query.family or "unlike"].append(step)
    return {family: _sizes(steps) for family, steps in families.items()}


def _sizes(steps: Sequence[MeasuredStep]) -> PublishedSizes:
    demands = [step.query.demand_of_each for step in steps]
    counts = {name: [float(getattr(demand, name)) for demand in demands] for name in COUNTS}
    return PublishedSizes(
        least={name: min(values) for name, values in counts.items()},
        most={name: max(values) for name, values in counts.items()},
    )


def models_text(table: LatencyTable) -> str:
    """Return the JSON text of the models that are fitted to the table, for the devices of conf/device."""
    _, catalogue = load_cluster((), working_directory=Path.cwd())
    models = fit_default_models(table, devices=catalogue.devices)
    plain: Mapping[str, Any] = codec.to_plain(models)
    fields = (f"{json.dumps(name)}: {_lines(value)}" for name, value in plain.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    """Return JSON with one line for each item of a list."""
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) + "\n]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the file. Return 2 after one line if the data do not suffice."""
    return print_converted(models_text, arguments, description=__doc__)


if __name__ == "__main__":
    sys.exit(main())
