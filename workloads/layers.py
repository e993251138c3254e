"""The layers that networks are made of: plain values, defined once for every framework.

Feature maps are [batch, height, width, channel], vectors [batch, unit], sequences [batch, step, unit],
token ids [batch, step]. A size that is a pair is (height, width).
"""

from dataclasses import dataclass, field
from typing import Literal

from workloads.sequence_layers import (
    Attention,
    ClassToken,
    FirstStep,
    Float32,
    LayerNorm,
    PositionEmbedding,
    Product,
    RmsNorm,
    TiedDense,
    ToSequence,
)

Pair = tuple[int, int]
Shape = tuple[int, ...]

Initializer = Literal["he", "glorot", "dcgan", "bert"]
"""Distributions of the initial values of a kernel; `initial.py` names their sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv2d:
    """Convolution with zero padding of `padding` on both sides of each axis."""

    filters: int
    kernel: int | Pair
    stride: int = 1
    padding: int | Pair = 0
    bias: bool = True
    initializer: Initializer = "he"


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseConv2d:
    """A convolution of each channel by a kernel of its own."""

    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    initializer: Initializer = "he"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvTranspose2d:
    """The gradient of a convolution as a layer: it multiplies height and width by `stride`."""

    filters: int
    kernel: int
    stride: int = 1
    bias: bool = True
    initializer: Initializer = "dcgan"

    def __post_init__(self) -> None:
        if self.kernel < self.stride:
            raise ValueError(f"ConvTranspose2d: kernel={self.kernel} must be at least stride={self.stride}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Fully connected layer over the last axis.

    Attributes:
        gain: factor of the deviation with which the kernel is drawn.
    """

    units: int
    bias: bool = True
    initializer: Initializer = "glorot"
    gain: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNorm:
    """Normalisation by mean and biased variance of the global batch, for any number of replicas.

    Attributes:
        momentum: share of the old moving statistics that a step keeps; evaluation uses the moving ones.
        scale: True if there is a gamma beside the beta.
    """

    momentum: float = 0.9
    epsilon: float = 1e-5
    scale: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """`leaky_relu` multiplies what is below zero by `slope`; `swish` is x * sigmoid(x).

    `gelu` is exact, `gelu_tanh` its approximation by a hyperbolic tangent (Hendrycks and Gimpel 2016).
    """

    kind: Literal["relu", "relu6", "leaky_relu", "tanh", "sigmoid", "swish", "gelu", "gelu_tanh"]
    slope: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPool2d:
    """Maximum over squares; what `padding` adds at the border never counts, a remainder there is dropped."""

    size: int
    stride: int | None = None
    padding: int = 0

    def __post_init__(self) -> None:
        if 2 * self.padding > self.size:
            raise ValueError(f"MaxPool2d: padding={self.padding} must be at most half of size={self.size}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AvgPool2d:
    """Mean over squares at every position; what lies beyond the border does not count.

    Attributes:
        same: a stride of one that keeps height and width; else the stride is the size.
    """

    size: int
    same: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalAveragePool:
    """[batch, height, width, channel] -> [batch, channel]; over the steps of a sequence likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten:
    """[batch, height, width, channel] -> [batch, height * width * channel], channels fastest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """[batch, unit] -> [batch, height, width, channel], channels fastest."""

    shape: tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropout:
    """Zero a share `rate` of the values while training, and scale the others up."""

    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Sum of two inputs of one shape, the second scaled by `scale`."""

    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiply:
    """Feature maps by one value for each channel: [batch, height, width, channel] * [batch, channel]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concatenate:
    """Feature maps of one height and width, channels behind each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Token ids [batch, step] below `vocabulary` -> [batch, step, unit]."""

    vocabulary: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent:
    """A recurrent layer that reads a sequence forwards and backwards, and concatenates both.

    Attributes:
        cell: `lstm` (Hochreiter and Schmidhuber 1997, forget gate's bias 1 at first) or `gru` (Cho et al.
            2014, with the reset gate behind the recurrent product, as cuDNN has it).
        units: units of each direction.
        sequences: give every step instead of the last one of each direction.
    """

    cell: Literal["lstm", "gru"]
    units: int
    sequences: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rbm:
    """A restricted Boltzmann machine; as a layer of a network, the probabilities of its hidden units.

    sigmoid(x @ kernel + bias). Its visible bias serves contrastive divergence alone.
    """

    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom:
    """A layer of someone's own.

    Attributes:
        torch, keras: `module:Class`. The class takes `arguments` by keyword. Its weights are attributes of
            the names in `parameters`, in those shapes: `nn.Parameter` there, `add_weight` here.
        parameters: (name, shape) of each; at first a `…kernel` is drawn as glorot, a `…gamma` is one, any
            other zero.
        output_shape: without the batch axis.
        forward_flops: operations per sample, counted as `flops.py` counts.
    """

    torch: str
    keras: str
    parameters: tuple[tuple[str, Shape], ...]
    output_shape: Shape
    forward_flops: float
    arguments: tuple[tuple[str, int | float | str], ...] = field(default=())


Layer = (
    Conv2d
    | DepthwiseConv2d
    | ConvTranspose2d
    | Dense
    | BatchNorm
    | Activation
    | MaxPool2d
    | AvgPool2d
    | GlobalAveragePool
    | Flatten
    | Reshape
    | Dropout
    | Add
    | Multiply
    | Concatenate
    | Embedding
    | Recurrent
    | Rbm
    | LayerNorm
    | RmsNorm
    | PositionEmbedding
    | ClassToken
    | FirstStep
    | ToSequence
    | Attention
    | Product
    | TiedDense
    | Float32
    | Custom
)


def pair(size: int | Pair) -> Pair:
    """(height, width) of a size that may be one number for both."""
    return (size, size) if isinstance(size, int) else size
