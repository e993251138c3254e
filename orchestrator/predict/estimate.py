"""(a step that is asked for, fitted models) -> its roofline, and its time or why there is none. Pure."""

from dataclasses import dataclass

from orchestrator.core.device import Device
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
    asked = Asked(
        spec=spec,
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
    )
    count = point.num_workers
    return Prediction(
        point=point,
        roofline=roofline_of(asked.demand, point.device, precision=point.precision, count=count),
        step=step_of(asked, models),
    )


def step_of(asked: Asked, models: DefaultModels) -> Estimate | Refusal:
    """The seconds of such a step, by what was measured of others."""
    return _outside(asked, models) or _step(asked, models)


def _outside(asked: Asked, models: DefaultModels) -> Refusal | None:
    """Why the measurements say nothing about such a step; None: they may."""
    device, replicas = asked.device, asked.num_workers * asked.device.replicas
    if device.kind != "gpu":
        return Refusal(reason=f"no {device.kind.upper()} was measured", to_measure="this point")
    if asked.precision != models.precision:
        return Refusal(
            reason=f"measured in {models.precision} alone, not {asked.precision}", to_measure="this point"
        )
    if replicas > 1:
        return Refusal(
            reason=f"measured on one device, not {replicas}", to_measure="this point with 2 workers"
        )
    if not _is_image_classifier(asked.spec):
        return Refusal(reason="only image classifiers were measured", to_measure="this workload there")
    return None


def _step(asked: Asked, models: DefaultModels) -> Estimate | Refusal:
    peaks = peaks_of(asked.device, asked.precision, count=1)
    if peaks is None or peaks.flops_per_second is None or peaks.memory_bytes_per_second is None:
        return Refusal(
            reason=f"the {asked.precision} or memory peak of {asked.device.name} is unknown",
            to_measure="this point",
        )
    model = models.devices.get(asked.device.name, models.any_gpu)
    return model.step_seconds(
        asked.demand,
        flops_per_second=peaks.flops_per_second,
        bytes_per_second=peaks.memory_bytes_per_second,
    )


def _is_image_classifier(spec: WorkloadSpec) -> bool:
    protocol = spec.phases[-1].protocol
    if not isinstance(protocol, Supervised):
        return False
    nodes = spec.networks[protocol.network].nodes
    return not any(isinstance(node.layer, _UNLIKE_CLASSIFIERS) for node in nodes)
