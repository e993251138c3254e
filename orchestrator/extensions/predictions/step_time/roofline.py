"""(what a step asks for, a device) -> how long each of its units needs at least, at its maker's peaks.

Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model". It is a bound for
direct algorithms without fusion: Winograd's convolutions beat it (docs/explanation/predictions.md).
"""

from dataclasses import dataclass, replace

from orchestrator.core.device import Device
from orchestrator.core.peaks import find_peaks
from orchestrator.core.trial_spec import Recomputation
from workloads.cost import find_cost
from workloads.spec import BlockCost, Workload

_WEIGHT_BYTES = 4  # gradients are exchanged in float32 at every precision

_FORWARD_LAUNCHES = 1 / 3
"""Launches of a layer in a forward pass over those of a step: an assumption, as of its operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Cost of one step, all replicas together: operations and bytes, none unless they are counted.

    Attributes:
        flops: multiply-accumulates count as two; a clever algorithm (Winograd, FFT) needs fewer.
        winograd_flops: of these, the part in 3x3 convolutions, which Winograd's algorithm shortens.
        value_bytes: read and written of feature maps, if nothing is fused or cached.
        weight_bytes: read and written of weights, gradients and the optimizer's slots, by one replica.
        gradient_bytes: size of the all-reduced gradients.
        layers: number of layers of all trained networks.
        time_steps: steps of sequences that recurrent layers compute one after the other.
        recurrent_bytes: read of recurrent kernels, if no cache holds them from one time step to the next.
        recomputed_flops: of the operations, those that activation checkpointing computes again.
        gathered_bytes: weights that replicas gather from their shards twice, forward and backward; 0: each
            holds all of them.
        shards: replicas that gather among themselves; further groups of so many sum gradients with them.
        frozen_bytes: of the weights' bytes, those of weights that are not trained.
        unpacks: True if each pass unpacks these from less than a byte each.
    """

    flops: float = 0.0
    winograd_flops: float = 0.0
    value_bytes: float = 0.0
    weight_bytes: float = 0.0
    gradient_bytes: float = 0.0
    layers: int = 0
    time_steps: int = 0
    recurrent_bytes: float = 0.0
    recomputed_flops: float = 0.0
    gathered_bytes: float = 0.0
    shards: int = 1
    frozen_bytes: float = 0.0
    unpacks: bool = False

    def count_exchanges(self, replicas: int) -> tuple[float, float]:
        """Return the bytes that a replica exchanges in its group and with others (Patarasuk and Yuan 2009).

        An all-reduce of the gradients is a reduction to shards and a gathering of them; shards of weights
        need the first alone.
        """
        within = replicas if self.shards == 1 else self.shards
        scattered = self.gradient_bytes
        gathered = 2 * self.gathered_bytes or self.gradient_bytes
        summed = 2 * (1 - within / replicas) * self.gradient_bytes / within
        return (within - 1) / within * (scattered + gathered), summed


def count_step_cost(
    spec: Workload,
    *,
    global_batch_size: int,
    value_bytes: int,
    recomputation: Recomputation = "none",
    shards: int = 1,
    update_share: float = 1.0,
) -> StepCost:
    """Count it.

    Args:
        value_bytes: size of one value of a feature map: 4 in fp32 and tf32, 2 in bf16 and fp16.
        recomputation: of the repeated blocks.
        shards: replicas over which weights, gradients and slots are sharded; 1: each has all of them.
        update_share: share of the weights that a replica updates, less where several passes have one update.
    """
    cost = find_cost(spec)
    if cost is None:
        return StepCost()
    whole = cost.step_bytes(global_batch_size, value_bytes=value_bytes)
    step = StepCost(
        flops=cost.step_flops(global_batch_size),
        winograd_flops=cost.padded_samples(global_batch_size) * cost.winograd_flops_per_sample,
        value_bytes=whole - cost.weight_bytes,
        weight_bytes=cost.weight_bytes,
        gradient_bytes=cost.gradient_bytes,
        layers=cost.layers,
        time_steps=cost.time_steps,
        recurrent_bytes=cost.recurrent_bytes * value_bytes / _WEIGHT_BYTES,
    )
    updated = 3 * cost.gradient_bytes + 2 * cost.slot_bytes  # gradients read, the rest read and written
    step = replace(
        step,
        gathered_bytes=(cost.held_bytes or cost.gradient_bytes) if shards > 1 else 0.0,
        shards=shards,
        weight_bytes=step.weight_bytes - (1 - update_share) * updated,
    )
    samples = cost.padded_samples(global_batch_size)
    blocks = cost.blocks if recomputation != "none" else None
    if blocks:
        step = _recompute(step, blocks, recomputation, samples, value_bytes)
    frozen = 1 - cost.trained_bytes / cost.held_bytes if cost.held_bytes else 0.0
    return replace(step, frozen_bytes=frozen * step.weight_bytes, unpacks=cost.has_packed_weights)


def _recompute(
    step: StepCost, blocks: BlockCost, recomputation: Recomputation, samples: float, value_bytes: int
) -> StepCost:
    """Return a step that computes its blocks again."""
    flops = samples * (
        blocks.flops_per_sample if recomputation == "full" else blocks.product_flops_per_sample / 2
    )
    values = samples * value_bytes / _WEIGHT_BYTES
    return replace(
        step,
        flops=step.flops + flops,
        recomputed_flops=flops,
        value_bytes=step.value_bytes + values * blocks.value_bytes_per_sample,
        weight_bytes=step.weight_bytes + blocks.weight_bytes,
        layers=step.layers + round(_FORWARD_LAUNCHES * blocks.layers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Seconds of one step; None where a peak is unknown.

    Attributes:
        compute_seconds: floating-point operations at the devices' peak in this precision.
        memory_seconds: traffic at the peak of the devices' memory.
        exchange_seconds: all-reduce of the gradients over all replicas, or what shards exchange; 0 for one
            replica.
        recomputed_seconds: of the operations' seconds, those of what is computed again.
    """

    compute_seconds: float | None
    memory_seconds: float | None
    exchange_seconds: float | None
    recomputed_seconds: float | None = 0.0

    @property
    def bound_seconds(self) -> float | None:
        """The longest of the three, for they may overlap; None if one is unknown."""
        parts = (self.compute_seconds, self.memory_seconds, self.exchange_seconds)
        bounds = [part for part in parts if part is not None]
        return max(bounds) if len(bounds) == len(parts) else None

    def times(self, passes: int, *, exchanges: int) -> "Roofline":
        """Return the bound of so many passes and exchanges."""
        return replace(
            self,
            exchange_seconds=_multiply(self.exchange_seconds, exchanges),
            compute_seconds=_multiply(self.compute_seconds, passes),
            memory_seconds=_multiply(self.memory_seconds, passes),
            recomputed_seconds=_multiply(self.recomputed_seconds, passes),
        )


def build_roofline(demand: StepCost, device: Device, *, precision: str, count: int) -> Roofline:
    """Return the roofline of `count` devices that share a global batch; host CPUs have no published peak."""
    peaks = find_peaks(device, precision, count=count)
    replicas = count * device.replicas
    traffic = demand.value_bytes + demand.weight_bytes * replicas
    exchanged = sum(demand.count_exchanges(replicas))
    return Roofline(
        compute_seconds=_seconds(demand.flops, peaks.flops_per_second if peaks else None),
        memory_seconds=_seconds(traffic, peaks.memory_bytes_per_second if peaks else None),
        exchange_seconds=0.0 if replicas == 1 else _seconds(exchanged, device.link_bytes_per_second),
        recomputed_seconds=_seconds(demand.recomputed_flops, peaks.flops_per_second if peaks else None),
    )


def _multiply(seconds: float | None, count: int) -> float | None:
    return None if seconds is None else count * seconds


def _seconds(amount: float, per_second: float | None) -> float | None:
    return None if per_second is None else amount / per_second
