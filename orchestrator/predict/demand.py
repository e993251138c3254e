"""(workload, batch, bytes of a value) -> what one optimizer step asks of a device, by analytic counts."""

from dataclasses import dataclass

from workloads.flops import train_step_flops
from workloads.spec import WorkloadSpec
from workloads.traffic import num_weights, train_step_bytes

_WEIGHT_BYTES = 4  # gradients are exchanged in float32 at every precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Of one step, all replicas together.

    Attributes:
        flops: multiply-accumulates count as two; a clever algorithm (Winograd, FFT) needs fewer.
        value_bytes: read and written of feature maps, if nothing is fused or cached.
        weight_bytes: read and written of weights, gradients and the optimizer's slots, by one replica.
        gradient_bytes: that the replicas have to sum up.
        layers: of all networks that are trained.
    """

    flops: float
    value_bytes: float
    weight_bytes: float
    gradient_bytes: float
    layers: int


def demand_of(spec: WorkloadSpec, *, global_batch_size: int, value_bytes: int) -> Demand:
    """Count it.

    Args:
        value_bytes: of one value of a feature map: 4 in fp32 and tf32, 2 in bf16 and fp16.
    """
    weights_alone = train_step_bytes(spec, 0, value_bytes=value_bytes)
    trained = [spec.networks[name] for name in spec.phases[-1].optimizers]
    return Demand(
        flops=train_step_flops(spec, global_batch_size),
        value_bytes=train_step_bytes(spec, global_batch_size, value_bytes=value_bytes) - weights_alone,
        weight_bytes=weights_alone,
        gradient_bytes=float(_WEIGHT_BYTES * sum(num_weights(each) for each in trained)),
        layers=sum(len(each.nodes) for each in trained),
    )
