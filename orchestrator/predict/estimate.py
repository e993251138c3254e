"""(a point of a sweep, fitted models) -> its roofline, and the time of a step or why there is none. Pure."""

from dataclasses import dataclass

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.peaks import peaks_of
from orchestrator.core.sweep import Point
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.demand import Demand, demand_of
from orchestrator.predict.roofline import Roofline, roofline_of
from orchestrator.train.precision import PRECISIONS
from workloads.layers import Custom, Embedding, Rbm, Recurrent
from workloads.spec import Supervised, WorkloadSpec

_UNLIKE_CLASSIFIERS = (Custom, Embedding, Rbm, Recurrent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Of one point.

    Attributes:
        step: seconds of one optimizer step, all replicas together.
    """

    point: Point
    roofline: Roofline
    step: Estimate | Refusal


def predict(point: Point, spec: WorkloadSpec, models: DefaultModels) -> Prediction:
    """Predict one optimizer step of a point whose workload is `spec`."""
    demand = demand_of(
        spec,
        global_batch_size=point.global_batch_size,
        value_bytes=PRECISIONS[point.precision].value_bytes,
    )
    return Prediction(
        point=point,
        roofline=roofline_of(demand, point.device, precision=point.precision, count=point.num_workers),
        step=_outside(point, spec, models) or _step(point, demand, models),
    )


def _outside(point: Point, spec: WorkloadSpec, models: DefaultModels) -> Refusal | None:
    """Why the measurements say nothing about such a point; None: they may."""
    if point.device.kind != "gpu":
        return Refusal(reason=f"no {point.device.kind.upper()} was measured", to_measure="this point")
    if point.precision != models.precision:
        return Refusal(
            reason=f"measured in {models.precision} alone, not {point.precision}", to_measure="this point"
        )
    if point.replicas > 1:
        return Refusal(
            reason=f"measured on one device, not {point.replicas}", to_measure="this point with 2 workers"
        )
    if not _is_image_classifier(spec):
        return Refusal(reason="only image classifiers were measured", to_measure="this workload there")
    return None


def _step(point: Point, demand: Demand, models: DefaultModels) -> Estimate | Refusal:
    peaks = peaks_of(point.device, point.precision, count=1)
    if peaks is None or peaks.flops_per_second is None or peaks.memory_bytes_per_second is None:
        return Refusal(
            reason=f"the {point.precision} or memory peak of {point.device.name} is unknown",
            to_measure="this point",
        )
    model = models.devices.get(point.device.name, models.any_gpu)
    return model.step_seconds(
        demand,
        flops_per_second=peaks.flops_per_second,
        bytes_per_second=peaks.memory_bytes_per_second,
    )


def _is_image_classifier(spec: WorkloadSpec) -> bool:
    protocol = spec.phases[-1].protocol
    if not isinstance(protocol, Supervised):
        return False
    nodes = spec.networks[protocol.network].nodes
    return not any(isinstance(node.layer, _UNLIKE_CLASSIFIERS) for node in nodes)
