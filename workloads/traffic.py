"""Analytic memory traffic of a training step: what its arrays are read and written, if nothing is fused.

Each layer reads its inputs and its parameters and writes its output. Backwards it reads the gradient of its
output, its inputs and its parameters, and writes the gradients of inputs and parameters. The optimizer reads
each gradient, and reads and writes each weight and each of its slots. A compiler that fuses layers, and a
cache that holds them, need less.
"""

import math

from workloads.network import INPUT, Network
from workloads.shapes import find_shapes, is_trained, network_parameters
from workloads.spec import (
    ContrastiveDivergence,
    Gan,
    Optimizer,
    Phase,
    Sgd,
    Supervised,
    TokenPrediction,
    WorkloadSpec,
)

_WEIGHT_BYTES = 4  # weights, their gradients and slots are float32 at every precision


def num_weights(network: Network) -> int:
    """Trained parameters."""
    return sum(math.prod(shape) for name, shape in network_parameters(network).items() if is_trained(name))


def train_step_bytes(spec: WorkloadSpec, global_batch_size: int, *, value_bytes: int) -> float:
    """Bytes read and written by one step of the phase that is timed, all replicas together.

    Args:
        value_bytes: bytes of one value of a feature map: 4 in fp32 and tf32, 2 in bf16 and fp16.
    """
    phase = spec.phases[-1]
    values = sum(passes * count_values_moved(network) for network, passes in _list_networks(spec, phase))
    weights = sum(
        _weight_moves(optimizer) * num_weights(spec.networks[name])
        for name, optimizer in phase.optimizers.items()
    )
    return float(global_batch_size * values * value_bytes + weights * _WEIGHT_BYTES)


def block_traffic(network: Network) -> tuple[float, float]:
    """Bytes in float32 that one forward pass of the repeated blocks moves: values a sample, and weights."""
    inside = {index for block in network.blocks for index in block}
    values, shapes = 0, find_shapes(network)
    for index in inside:
        sources = [
            network.input_shape if source == INPUT else shapes[source]
            for source in network.nodes[index].inputs
        ]
        values += sum(map(math.prod, (shapes[index], *sources)))
    weights = (
        math.prod(shape)
        for name, shape in network_parameters(network).items()
        if int(name.partition(".")[0]) in inside
    )
    return float(_WEIGHT_BYTES * values), float(_WEIGHT_BYTES * sum(weights))


def _list_networks(spec: WorkloadSpec, phase: Phase) -> tuple[tuple[Network, int], ...]:
    """Return the networks that a step runs forwards and backwards, and how often."""
    match phase.protocol:
        case Supervised(network=name) | TokenPrediction(network=name) | ContrastiveDivergence(network=name):
            return ((spec.networks[name], 1),)
        case Gan():
            return ((spec.networks["generator"], 1), (spec.networks["discriminator"], 3))


def count_values_moved(network: Network) -> int:
    """Count per sample inputs thrice (forward, backward, gradient), outputs twice (forward, gradient)."""
    shapes = find_shapes(network)

    def size(index: int) -> int:
        return math.prod(network.input_shape if index == INPUT else shapes[index])

    return sum(
        3 * sum(size(source) for source in node.inputs) + 2 * size(index)
        for index, node in enumerate(network.nodes)
    )


def _weight_moves(optimizer: Optimizer) -> int:
    """Return how often the size of each weight is read or written.

    Forward 1, backward 2 (weight, gradient), update 1 for the gradient, 2 for the weight and for each slot.
    """
    return 6 + 2 * count_slots(optimizer)


def count_slots(optimizer: Optimizer) -> int:
    """Return how many values an optimizer keeps of each weight."""
    return int(bool(optimizer.momentum)) if isinstance(optimizer, Sgd) else 2
