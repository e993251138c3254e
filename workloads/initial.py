"""Initial weights as numpy arrays, so that every framework starts from identical bytes.

Canonical names are `<network>.<node index>.<parameter>`, in the layouts of `shapes.list_parameters`.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from workloads.layers import Dense, Embedding, Initializer, Layer, Rbm, Recurrent, Shape
from workloads.network import Network
from workloads.sequence_layers import PositionEmbedding
from workloads.shapes import GATES, find_input_shapes, list_parameters

Array = npt.NDArray[np.float32]
State = dict[str, Array]
"""Parameters by canonical name, in canonical layout."""

_DCGAN_DEVIATION = 0.02
_RBM_DEVIATION = 0.01
_BERT_DEVIATION = 0.02
_EMBEDDING_DEVIATION = 0.05 / math.sqrt(3)  # Keras draws uniformly from [-0.05, 0.05]


def initial_weights(network: Network, seed: int) -> State:
    """Return all that `draw_weights` yields."""
    return dict(draw_weights(network, seed))


def draw_weights(network: Network, seed: int) -> Iterator[tuple[str, Array]]:
    """Draw kernels in node order from one generator: `<node index>.<parameter>` and its array.

    `he`: variance 2 / fan_in (He et al. 2015, "Delving Deep into Rectifiers", eq. 10). `glorot`: variance
    2 / (fan_in + fan_out) (Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward
    neural networks", eq. 12). `dcgan`: deviation 0.02 (Radford, Metz, Chintala 2016, section 3). `bert`: 0.02
    (google-research/bert, `initializer_range`), as positions have. An RBM has
    deviation 0.01 (Hinton 2010, "A Practical Guide to Training Restricted Boltzmann Machines", section 8).
    """
    random = np.random.default_rng(seed)
    for index, (node, inputs) in enumerate(zip(network.nodes, find_input_shapes(network), strict=True)):
        for name, shape in list_parameters(node.layer, inputs).items():
            yield f"{index}.{name}", _initial(name, shape, node.layer, random)


def _initial(name: str, shape: Shape, layer: Layer, random: np.random.Generator) -> Array:
    if name.endswith(("gamma", "moving_variance")):
        return np.ones(shape, np.float32)
    if not name.endswith("kernel"):
        return _initial_bias(shape, layer)
    # Uniform: a normal draw uses the C library's logarithm, whose last bit differs between machines.
    limit = math.sqrt(3) * _deviation(shape, layer)
    return random.uniform(-limit, limit, shape).astype(np.float32)


def _initial_bias(shape: Shape, layer: Layer) -> Array:
    """Zero, but for an LSTM's forget gate (Jozefowicz, Zaremba, Sutskever 2015, section 3.1)."""
    bias = np.zeros(shape, np.float32)
    if isinstance(layer, Recurrent) and layer.cell == "lstm":
        bias[layer.units : 2 * layer.units] = 1
    return bias


def _deviation(shape: Shape, layer: Layer) -> float:
    match layer:
        case Rbm():
            return _RBM_DEVIATION
        case Embedding():
            return _EMBEDDING_DEVIATION
        case Recurrent():
            return math.sqrt(2 / (shape[0] + shape[1] / GATES[layer.cell]))
        case PositionEmbedding():
            return _BERT_DEVIATION
        case Dense():
            return layer.gain * _kernel_deviation(layer.initializer, shape)
        case _:
            initializer: Initializer = getattr(layer, "initializer", "glorot")
            return _kernel_deviation(initializer, shape)


def _kernel_deviation(initializer: Initializer, shape: Shape) -> float:
    if initializer == "dcgan":
        return _DCGAN_DEVIATION
    if initializer == "bert":
        return _BERT_DEVIATION
    receptive_field = math.prod(shape[:-2])
    fan_in, fan_out = (receptive_field * size for size in shape[-2:])
    if len(shape) == 4 and shape[-1] == 1:  # depthwise: each output sees one channel
        fan_in = fan_out = receptive_field
    return math.sqrt(2 / fan_in if initializer == "he" else 2 / (fan_in + fan_out))
