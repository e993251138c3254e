"""(what a step asks for, a device) -> how long each of its units needs at least, at its maker's peaks.

Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model". It is a bound for
direct algorithms without fusion: Winograd's convolutions were seen to beat it (docs/prediction_models.md).
"""

from dataclasses import dataclass

from orchestrator.core.device import Device
from orchestrator.core.peaks import peaks_of
from workloads.flops import train_step_flops
from workloads.spec import JobCost, NativeSpec, ScriptSpec, Workload
from workloads.traffic import num_weights, train_step_bytes

_WEIGHT_BYTES = 4  # gradients are exchanged in float32 at every precision


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Cost of one step, all replicas together: operations and bytes.

    Attributes:
        flops: multiply-accumulates count as two; a clever algorithm (Winograd, FFT) needs fewer.
        value_bytes: read and written of feature maps, if nothing is fused or cached.
        weight_bytes: read and written of weights, gradients and the optimizer's slots, by one replica.
        gradient_bytes: size of the all-reduced gradients.
        layers: number of layers of all trained networks.
    """

    flops: float
    value_bytes: float
    weight_bytes: float
    gradient_bytes: float
    layers: int


def step_cost_of(spec: Workload, *, global_batch_size: int, value_bytes: int) -> StepCost:
    """Count it.

    Args:
        value_bytes: size of one value of a feature map: 4 in fp32 and tf32, 2 in bf16 and fp16.
    """
    if isinstance(spec, NativeSpec):
        return _step_cost_of_job(spec.cost, global_batch_size, value_bytes)
    if isinstance(spec, ScriptSpec):
        return StepCost(flops=0.0, value_bytes=0.0, weight_bytes=0.0, gradient_bytes=0.0, layers=0)
    weights_alone = train_step_bytes(spec, 0, value_bytes=value_bytes)
    trained = [spec.networks[name] for name in spec.phases[-1].optimizers]
    return StepCost(
        flops=train_step_flops(spec, global_batch_size),
        value_bytes=train_step_bytes(spec, global_batch_size, value_bytes=value_bytes) - weights_alone,
        weight_bytes=weights_alone,
        gradient_bytes=float(_WEIGHT_BYTES * sum(num_weights(network) for network in trained)),
        layers=sum(len(network.nodes) for network in trained),
    )


def _step_cost_of_job(cost: JobCost, global_batch_size: int, value_bytes: int) -> StepCost:
    whole = cost.step_bytes(global_batch_size, value_bytes=value_bytes)
    return StepCost(
        flops=cost.step_flops(global_batch_size),
        value_bytes=whole - cost.weight_bytes,
        weight_bytes=cost.weight_bytes,
        gradient_bytes=cost.gradient_bytes,
        layers=cost.layers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Seconds of one step; None where a peak is unknown.

    Attributes:
        compute_seconds: floating-point operations at the devices' peak in this precision.
        memory_seconds: traffic at the peak of the devices' memory.
        exchange_seconds: all-reduce of the gradients over all replicas; a replica sends and receives
            2 (n - 1) / n of them (Patarasuk and Yuan 2009); 0 for one replica.
    """

    compute_seconds: float | None
    memory_seconds: float | None
    exchange_seconds: float | None

    @property
    def bound_seconds(self) -> float | None:
        """The longest of the three, for they may overlap; None if one is unknown."""
        parts = (self.compute_seconds, self.memory_seconds, self.exchange_seconds)
        bounds = [part for part in parts if part is not None]
        return max(bounds) if len(bounds) == len(parts) else None


def roofline_of(demand: StepCost, device: Device, *, precision: str, count: int) -> Roofline:
    """Return the roofline of `count` devices that share a global batch; host CPUs have no published peak."""
    peaks = peaks_of(device, precision, count=count)
    replicas = count * device.replicas
    traffic = demand.value_bytes + demand.weight_bytes * replicas
    exchanged = 2 * (replicas - 1) / replicas * demand.gradient_bytes
    return Roofline(
        compute_seconds=_seconds(demand.flops, peaks.flops_per_second if peaks else None),
        memory_seconds=_seconds(traffic, peaks.memory_bytes_per_second if peaks else None),
        exchange_seconds=0.0 if replicas == 1 else _seconds(exchanged, device.link_bytes_per_second),
    )


def _seconds(amount: float, per_second: float | None) -> float | None:
    return None if per_second is None else amount / per_second
