"""Published steps of transformers over their sums of parts, and the spread of these ratios."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from transformer_rates import TRANSFORMER_RATES, TransformerRate

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.predict.step_time.analytic import COUNTS, Analytic
from orchestrator.predict.step_time.published_estimate import StepQuery, sum_of_parts
from orchestrator.predict.step_time.published_rates import PublishedStep, RatedFamily
from workloads.registry import kept

_AS_FAST = {"fp16": "bf16"}
"""Precision -> one of the same peak on every device with a rate in it."""


def query_of_transformer(rate: TransformerRate, device: Device) -> StepQuery:
    """Build the query of the step that a published rate is of."""
    return StepQuery(
        spec=kept(rate.workload, tuple(rate.options.items())),
        device=device,
        precision=rate.precision,
        num_workers=rate.num_workers,
        global_batch_size=rate.global_batch_size,
    )


def transformer_steps(devices: Mapping[str, Device], any_gpu: Analytic) -> tuple[PublishedStep, ...]:
    """Return the published steps over their sums of parts. Raises ConfigError for a device without peaks."""
    return tuple(_step(rate, devices[rate.device], any_gpu) for rate in TRANSFORMER_RATES)


def transformer_family(steps: Sequence[PublishedStep], devices: Mapping[str, Device]) -> RatedFamily:
    """Return the spread of the steps, every network and every device held out, and their sizes."""
    demands = [query_of_transformer(rate, devices[rate.device]).demand_of_each for rate in TRANSFORMER_RATES]
    between_networks = _between_networks(steps)
    return RatedFamily(
        device=_between_devices(steps, between_networks),
        workload=between_networks,
        least={name: min(getattr(demand, name) for demand in demands) for name in COUNTS},
        most={name: max(getattr(demand, name) for demand in demands) for name in COUNTS},
    )


def _step(rate: TransformerRate, device: Device, any_gpu: Analytic) -> PublishedStep:
    parts = sum_of_parts(query_of_transformer(rate, device), any_gpu)
    if parts is None:
        raise ConfigError(
            f"conf/device/{rate.device}.yaml: the {rate.precision}, memory and link peaks are needed"
        )
    return PublishedStep(
        device=rate.device,
        kind=device.kind,
        precision=rate.precision,
        family="transformer",
        workload=f"{rate.workload} {rate.options['size']}",
        log=math.log(rate.global_batch_size / rate.samples_per_second / parts),
        source=rate.source,
    )


def _between_networks(steps: Sequence[PublishedStep]) -> float:
    """Return the deviation of a network from the others on the same device at an equally fast precision.

    The error of a mean of k networks has the variance of one, times 1 + 1 / k. Networks count alike.
    """
    squares: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        others = _means(other for other in steps if _place(other) == _place(step))
        del others[step.workload]
        if others:
            error = step.log - fmean(others.values())
            squares[step.workload].append(error**2 / (1 + 1 / len(others)))
    return math.sqrt(fmean(fmean(values) for values in squares.values()))


def _between_devices(steps: Sequence[PublishedStep], between_networks: float) -> float:
    """Return the deviation of a device from the others in one precision, beyond that of networks."""
    variances = []
    for place in dict.fromkeys(map(_place, steps)):
        device, precision = place
        own = _means(step for step in steps if _place(step) == place)
        alike = [step for step in steps if _place(step)[1] == precision and step.device != device]
        if not alike:
            continue
        count = len({step.device for step in alike})
        error = fmean(own.values()) - fmean(_means(alike).values())
        variances.append((error**2 - between_networks**2 / len(own)) / (1 + 1 / count))
    return math.sqrt(max(0.0, fmean(variances)))


def _place(step: PublishedStep) -> tuple[str, str]:
    return step.device, _AS_FAST.get(step.precision, step.precision)


def _means(steps: Iterable[PublishedStep]) -> dict[str, float]:
    """Network -> mean logarithm."""
    logs: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        logs[step.workload].append(step.log)
    return {name: fmean(values) for name, values in logs.items()}
