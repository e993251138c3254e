"""(a step that is asked for, fitted models) -> what the measurements of others tell of it. Pure."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.peaks import peaks_of
from orchestrator.predict.analytic import Analytic, around
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.demand import Demand, demand_of
from orchestrator.predict.prior import Learned
from orchestrator.predict.rated import Rated, rated_of
from orchestrator.predict.roofline import Roofline, roofline_of
from orchestrator.train.precision import PRECISIONS
from workloads.layers import Custom, Embedding, Rbm, Recurrent
from workloads.spec import Supervised, WorkloadSpec

_UNLIKE_CLASSIFIERS = (Custom, Embedding, Rbm, Recurrent)
_UNLIKE = 2.0
"""How much farther apart workloads are taken to lie where others measured nothing alike: an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A step whose time is asked for.

    Attributes:
        spec: of the workload, with its knobs.
    """

    spec: WorkloadSpec
    device: Device
    precision: str
    num_workers: int
    global_batch_size: int

    @property
    def demand(self) -> Demand:
        """What it asks of its devices."""
        return demand_of(
            self.spec,
            global_batch_size=self.global_batch_size,
            value_bytes=PRECISIONS[self.precision].value_bytes,
        )

    @property
    def demand_of_each(self) -> Demand:
        """What it asks of each replica."""
        whole = self.demand
        return replace(
            whole, flops=whole.flops / self.replicas, value_bytes=whole.value_bytes / self.replicas
        )

    @property
    def replicas(self) -> int:
        """Of all workers together."""
        return self.num_workers * self.device.replicas

    @property
    def roofline(self) -> Roofline:
        """Its bound."""
        return roofline_of(self.demand, self.device, precision=self.precision, count=self.num_workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What is known of a step before own measurements are looked at.

    Attributes:
        step: its time, or why others tell nothing of it.
        seconds: its sum of parts, for own measurements to correct; None: there is nothing to correct.
        peers: equal for steps of which measurements correct each other's sums.
        device, workload: deviations of logarithms from those sums, as in `Prior`.
        source: whose coefficients the sum has.
    """

    step: Estimate | Refusal
    seconds: float | None
    peers: Hashable
    device: float
    workload: float
    source: str


def basis_of(asked: Asked, models: DefaultModels) -> Basis:
    """Of any step: as fitted, else as rates of one network tell, else a sum of parts and no estimate."""
    is_classifier = _is_image_classifier(asked.spec)
    unlike = _unlike(asked, models, is_classifier=is_classifier)
    rated = _rated(asked, models) if unlike and is_classifier else None
    own_model = None if unlike else models.devices.get(asked.device.name)
    model, prior = own_model or models.any_gpu, models.prior
    beyond = model.beyond(asked.demand_of_each) if is_classifier else None
    seconds = None if beyond else sum_of_parts(asked, model)
    if rated:
        learned, source = rated.learned, rated.source
        factor = math.exp(prior.quantile * learned.deviation)
    else:
        workload = math.log(own_model.factor) / prior.quantile if own_model else prior.workload
        learned = Learned(
            mean=0.0,
            of_mean=math.inf if unlike else prior.device,
            of_one=_UNLIKE * workload if unlike else workload,
        )
        factor, source = model.factor, "rough, for others measured nothing alike" if unlike else model.source
    if seconds is not None:
        seconds *= math.exp(learned.mean)
    refusal = beyond if rated else unlike or beyond
    return Basis(
        step=refusal or _step(asked, seconds, factor=factor, source=source),
        seconds=seconds,
        peers=(
            asked.device.name,
            asked.precision,
            asked.num_workers,
            "" if is_classifier else asked.spec.name,
        ),
        device=learned.of_mean,
        workload=learned.of_one,
        source=source,
    )


def sum_of_parts(asked: Asked, model: Analytic) -> float | None:
    """With the exchange of the gradients on top; None where a peak is unknown."""
    peaks = peaks_of(asked.device, asked.precision, count=asked.num_workers)
    exchange = asked.roofline.exchange_seconds
    if peaks is None or exchange is None:
        return None
    flops, memory = peaks.flops_per_second, peaks.memory_bytes_per_second
    if flops is None or memory is None:
        return None
    demand = asked.demand
    whole = replace(demand, weight_bytes=asked.replicas * demand.weight_bytes)
    return exchange + model.sum_of_parts(whole, flops_per_second=flops, bytes_per_second=memory)


def _unlike(asked: Asked, models: DefaultModels, *, is_classifier: bool) -> Refusal | None:
    """Why the measurements of others say nothing about such a step; None: they may."""
    device = asked.device
    if device.kind != "gpu":
        return Refusal(
            reason=f"no {device.kind.upper()} was measured in {asked.precision}",
            to_measure=f"an image classifier there in {asked.precision}",
        )
    if asked.precision != models.precision:
        return Refusal(
            reason=f"no GPU was measured in {asked.precision}",
            to_measure=f"an image classifier there in {asked.precision}",
        )
    if asked.replicas > 1:
        return Refusal(
            reason=f"measured on one device, not {asked.replicas}",
            to_measure=f"an image classifier there with {asked.num_workers} workers",
        )
    if not is_classifier:
        return Refusal(reason="only image classifiers were measured", to_measure="this workload there")
    return None


def _rated(asked: Asked, models: DefaultModels) -> Rated | None:
    """What published rates tell of such steps; None: there are none.

    Those in a precision that the device is as fast in count too: fp16 and bf16 on Ampere.
    """
    peaks = asked.device.peak_flops_per_second
    as_fast = {asked.precision, *(each for each, peak in peaks.items() if peak == peaks.get(asked.precision))}
    return rated_of(
        (each for each in models.rated if each.kind == asked.device.kind and each.precision in as_fast),
        device=asked.device.name,
        between_devices=models.prior.device,
        workload=_UNLIKE * models.prior.workload,
    )


def _step(asked: Asked, seconds: float | None, *, factor: float, source: str) -> Estimate | Refusal:
    if seconds is None:
        return Refusal(
            reason=f"the {asked.precision}, memory or link peak of {asked.device.name} is unknown",
            to_measure="this point",
        )
    return around(seconds, factor=factor, source=source)


def _is_image_classifier(spec: WorkloadSpec) -> bool:
    protocol = spec.phases[-1].protocol
    if not isinstance(protocol, Supervised):
        return False
    nodes = spec.networks[protocol.network].nodes
    return not any(isinstance(node.layer, _UNLIKE_CLASSIFIERS) for node in nodes)
