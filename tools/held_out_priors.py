"""Published steps -> what the bundled models would have predicted of them without their network.

Steps of the network are held out in every laboratory, and those of the device too if that is asked. The user
is one more laboratory, as in the product. The coefficients of the parts and the deviations of the effects saw
all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from laboratory_rates import laboratory_devices
from published_networks import PublishedLatency
from published_steps import query_of_latency

from orchestrator.core.device import Device
from orchestrator.core.estimate import StepPrior
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_priors import step_prior


def held_out_priors(
    measured: Sequence[PublishedLatency],
    models: DefaultModels,
    *,
    devices: Mapping[str, Device],
    for_new_devices: bool,
) -> Mapping[PublishedLatency, StepPrior]:
    """Predict every step by models that did not see its network.

    Args:
        devices: name -> device of conf/device.
        for_new_devices: the models did not see its device either.
    """
    known = {**laboratory_devices(), **devices}
    groups: dict[tuple[str, str], list[PublishedLatency]] = {}
    for latency in measured:
        groups.setdefault((latency.model, latency.device if for_new_devices else ""), []).append(latency)
    return {
        latency: prior
        for (_, device), latencies in groups.items()
        for latency, prior in _priors(latencies, models, known, is_device_held_out=bool(device))
    }


def _priors(
    latencies: Sequence[PublishedLatency],
    models: DefaultModels,
    devices: Mapping[str, Device],
    *,
    is_device_held_out: bool,
) -> Iterator[tuple[PublishedLatency, StepPrior]]:
    """Predict steps of one network; of one device if that is held out."""
    queries = [query_of_latency(latency, devices) for latency in latencies]
    workload, held_out = queries[0].spec.name, queries[0].device.name
    steps = tuple(
        step
        for step in models.steps
        if step.labels.network.partition(" ")[0] != workload
        and not (is_device_held_out and step.labels.device == held_out)
    )
    without = replace(models, steps=steps)
    for latency, query in zip(latencies, queries, strict=True):
        basis = build_published_estimate(query, without)
        prior = step_prior(basis.step, basis, memory=None, quantile=models.quantile)
        assert prior is not None, f"{latency.model} on {latency.device} is refused: {basis.step}"
        yield latency, prior
