"""Steps of sequences that recurrent layers compute one after the other: a device cannot do them together.

Both directions of a layer go side by side, as in cuDNN's bidirectional layers: on a GTX 1080 a layer of two
directions took about as long a time step as one of one, beside its arithmetic (docs/findings/recurrent.md).
"""

import math
from collections.abc import Iterator

from workloads.layers import Recurrent, Shape
from workloads.network import Network
from workloads.shapes import find_input_shapes, list_parameters

_READS = 2  # forward and backward


def time_steps(network: Network) -> int:
    """Return the number of time steps of all recurrent layers."""
    return sum(inputs[0] for _, inputs in _recurrent_layers(network))


def recurrent_reads(network: Network) -> int:
    """Return the values of recurrent kernels that a training step reads, if each time step reads them."""
    return sum(
        _READS * inputs[0] * math.prod(shape)
        for layer, inputs in _recurrent_layers(network)
        for name, shape in list_parameters(layer, inputs).items()
        if name.endswith("recurrent_kernel")
    )


def _recurrent_layers(network: Network) -> Iterator[tuple[Recurrent, Shape]]:
    """Yield the recurrent layers with the shapes of their inputs: (steps, values of a step)."""
    for node, inputs in zip(network.nodes, find_input_shapes(network), strict=True):
        if isinstance(node.layer, Recurrent):
            yield node.layer, inputs
