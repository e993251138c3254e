"""Input of a workload's network in words, from its declaration. Pure."""

from workloads.network import Network
from workloads.shapes import find_shapes
from workloads.spec import Gan, Supervised, TokenPrediction, Workload


def name_input(spec: Workload) -> str:
    """Name the input of the timed phase: `images 32x32, 10 classes`; empty where a user's code has it."""
    protocol = spec.phases[-1].protocol
    network = spec.networks.get("discriminator" if isinstance(protocol, Gan) else protocol.network)
    if network is None:
        return ""
    outputs = find_shapes(network)[-1][-1]
    match protocol:
        case Supervised():
            return f"{_values(network)}, {outputs:,} classes"
        case TokenPrediction():
            return f"{_values(network)}, vocabulary {outputs:,}"
        case _:
            return _values(network)


def _values(network: Network) -> str:
    shape = network.input_shape
    if network.takes_tokens:
        return f"texts of {shape[0]:,} tokens"
    if len(shape) == 3:
        return f"images {shape[0]}x{shape[1]}"
    return f"{'x'.join(map(str, shape))} values"
