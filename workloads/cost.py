"""Cost of a training step of any workload, counted without running it."""

from collections.abc import Sequence
from functools import lru_cache

from workloads.flops import block_flops, train_step_flops, winograd_flops
from workloads.network import Network
from workloads.spec import BlockCost, JobCost, Workload, WorkloadSpec
from workloads.time_steps import recurrent_reads, time_steps
from workloads.traffic import block_traffic, count_slots, num_weights, train_step_bytes

_WEIGHT_BYTES = 4  # weights, their gradients and slots are float32 at every precision


def find_cost(spec: Workload) -> JobCost | None:
    """Return the cost of a step of the phase that is timed; None for a script, before it runs."""
    if isinstance(spec, WorkloadSpec):
        return _count_networks(_Identity(spec))
    return next(iter(spec.costs.values()), None)


class _Identity:
    """A spec as a key: networks of hundreds of layers are counted once, and compared as objects."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return id(self.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.spec is other.spec


@lru_cache(maxsize=1024)
def _count_networks(identity: _Identity) -> JobCost:
    """Count the layers of a declared workload's trained networks."""
    spec = identity.spec
    weight_bytes = train_step_bytes(spec, 0, value_bytes=_WEIGHT_BYTES)
    trained = [spec.networks[name] for name in spec.phases[-1].optimizers]
    weights = sum(map(num_weights, trained))
    return JobCost(
        flops_per_sample=train_step_flops(spec, 1),
        flops_per_step=0.0,
        winograd_flops_per_sample=winograd_flops(spec),
        value_bytes_per_sample=train_step_bytes(spec, 1, value_bytes=_WEIGHT_BYTES) - weight_bytes,
        weight_bytes=weight_bytes,
        gradient_bytes=float(_WEIGHT_BYTES * weights),
        num_weights=weights,
        layers=sum(len(network.nodes) for network in trained),
        time_steps=sum(map(time_steps, trained)),
        recurrent_bytes=float(_WEIGHT_BYTES * sum(map(recurrent_reads, trained))),
        has_unused_weights=False,
        slot_bytes=float(_WEIGHT_BYTES * _num_slots(spec)),
        blocks=_count_blocks(trained),
    )


def _num_slots(spec: WorkloadSpec) -> int:
    """Count the values that the optimizers keep in a step of the last phase."""
    optimizers = spec.phases[-1].optimizers
    return sum(count_slots(how) * num_weights(spec.networks[name]) for name, how in optimizers.items())


def _count_blocks(networks: Sequence[Network]) -> BlockCost | None:
    """Count the repeated blocks of networks; None: there are none."""
    counts = [(*block_flops(one), *block_traffic(one), sum(map(len, one.blocks))) for one in networks]
    flops, product_flops, value_bytes, weight_bytes, layers = map(sum, zip(*counts, strict=True))
    if not layers:
        return None
    return BlockCost(
        flops_per_sample=flops,
        product_flops_per_sample=product_flops,
        value_bytes_per_sample=value_bytes,
        weight_bytes=weight_bytes,
        layers=layers,
    )
