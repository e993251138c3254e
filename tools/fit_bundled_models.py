"""Fit the bundled models to published measurements, and print their file as JSON.

    python tools/fit_bundled_models.py $ORCHESTRATOR_DATA/profet > default_models.json

The package reads the file from orchestrator/predict/step_time/data/.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from imagenet_rates import NUM_CLASSES, RATES, PublishedRate
from latency_tool import print_converted
from model_fitting import errors_by_device, fit_analytic, fit_kinship, fit_prior
from published_networks import PUBLISHED_DEVICES, PublishedLatency, measured_zoo, repeat_deviation
from transformer_family import transformer_family, transformer_steps

from orchestrator.config.cluster import load_cluster
from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.predict.latency_data.table import LatencyTable
from orchestrator.predict.step_time.analytic import Analytic
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.published_estimate import StepQuery, sum_of_parts
from orchestrator.predict.step_time.published_rates import PublishedStep
from workloads.registry import workload

_NOTICE = (
    "Fitted to measurements published with PROFET (Lee, Hur, Park and Lee 2022), ddps-lab/profet @e69477f, "
    "MIT License, Copyright (c) 2021 anonymous-profet; rates published by NVIDIA, Lambda, MosaicML, BAAI and "
    "others, and for MLPerf: tools/imagenet_rates.py, tools/transformer_rates.py"
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
    measured = list(measured_zoo(table))
    instances = sorted({latency.device for latency in measured})
    networks = Counter(device for device, _ in {(latency.device, latency.model) for latency in measured})
    if min(len(networks), *networks.values()) < _MIN_COUNT:
        raise ConfigError(f"{table.source}: at least two devices are needed, with two networks on each")
    gpus = ", ".join(PUBLISHED_DEVICES[instance].gpu for instance in instances)
    named = {
        name: instance for instance in instances if (name := PUBLISHED_DEVICES[instance].name) is not None
    }
    any_gpu = fit_analytic(measured, for_new_devices=True, source=f"rough: fitted to other GPUs ({gpus})")
    prior = fit_prior(measured, repeat=repeat_deviation(table))
    rated = tuple(_rated(rate, devices[rate.device], any_gpu) for rate in RATES)
    transformers = transformer_steps(devices, any_gpu)
    return DefaultModels(
        notice=_NOTICE,
        made_by=_MADE_BY,
        precision="fp32",
        prior=prior,
        kinship=fit_kinship(errors_by_device(measured)),
        devices={name: _fit_one(measured, instance) for name, instance in named.items()},
        any_gpu=any_gpu,
        rated=(*rated, *transformers),
        transformers=transformer_family(transformers, devices),
    )


def query_of(rate: PublishedRate, device: Device) -> StepQuery:
    """Build the query of the step that a published rate is of."""
    return StepQuery(
        spec=workload(rate.workload, {"image_size": rate.image_size, "num_classes": NUM_CLASSES}),
        device=device,
        precision=rate.precision,
        num_workers=rate.num_workers,
        global_batch_size=rate.global_batch_size,
    )


def _fit_one(measured: Sequence[PublishedLatency], instance: str) -> Analytic:
    own = [latency for latency in measured if latency.device == instance]
    gpu = PUBLISHED_DEVICES[instance].gpu
    return fit_analytic(own, for_new_devices=False, source=f"fitted to {gpu}, {instance}")


def _rated(rate: PublishedRate, device: Device, any_gpu: Analytic) -> PublishedStep:
    parts = sum_of_parts(query_of(rate, device), any_gpu)
    if parts is None:
        raise ConfigError(
            f"conf/device/{rate.device}.yaml: the {rate.precision}, memory and link peaks are needed, "
            f"for {rate.source} published a rate there"
        )
    return PublishedStep(
        device=rate.device,
        kind=device.kind,
        precision=rate.precision,
        family="classifier",
        workload=rate.workload,
        log=math.log(rate.global_batch_size / rate.samples_per_second / parts),
        source=rate.source,
    )


def models_text(table: LatencyTable) -> str:
    """Return the JSON text of the models that are fitted to the table, for the devices of conf/device."""
    _, catalogue = load_cluster((), working_directory=Path.cwd())
    models = fit_default_models(table, devices=catalogue.devices)
    return json.dumps(codec.to_plain(models), indent=1) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the file. Return 2 after one line if the data do not suffice."""
    return print_converted(models_text, arguments, description=__doc__)


if __name__ == "__main__":
    sys.exit(main())
