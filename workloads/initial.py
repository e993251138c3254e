"""Initial weights as numpy arrays, so that every framework starts from identical bytes.

Canonical names are `<layer index>.kernel` and `<layer index>.bias`; the layout of kernels is told by
`shapes.kernel_shapes_of`.
"""

import math

import numpy as np
import numpy.typing as npt

from workloads.shapes import Shape, kernel_shapes_of
from workloads.spec import Conv2d, Dense, Layer, WorkloadSpec

State = dict[str, npt.NDArray[np.float32]]
"""Parameters by canonical name, in canonical layout."""


def initial_weights(spec: WorkloadSpec, seed: int) -> State:
    """Draw kernels in layer order from one generator; biases are zero.

    Before a ReLU a kernel has variance 2 / fan_in (He et al. 2015, "Delving Deep into Rectifiers", eq. 10),
    elsewhere 2 / (fan_in + fan_out) (Glorot and Bengio 2010, "Understanding the difficulty of training deep
    feedforward neural networks", eq. 12).
    """
    random = np.random.default_rng(seed)
    state: State = {}
    for index, shape in kernel_shapes_of(spec).items():
        # Uniform: a normal draw uses the C library's logarithm, whose last bit differs between machines.
        limit = math.sqrt(3 * _variance(spec.layers[index], shape))
        state[f"{index}.kernel"] = random.uniform(-limit, limit, shape).astype(np.float32)
        state[f"{index}.bias"] = np.zeros(shape[-1], np.float32)
    return state


def _variance(layer: Layer, kernel: Shape) -> float:
    receptive_field = math.prod(kernel[:-2])
    fan_in, fan_out = (receptive_field * size for size in kernel[-2:])
    is_rectified = isinstance(layer, (Conv2d, Dense)) and layer.activation == "relu"
    return 2 / fan_in if is_rectified else 2 / (fan_in + fan_out)
