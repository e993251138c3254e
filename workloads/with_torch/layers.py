"""Each layer as a PyTorch module over [batch, channel, height, width], and its weights by canonical name."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

import torch
from torch import Tensor, nn
from torch.nn import functional

from workloads.layers import (
    Activation,
    Add,
    AvgPool2d,
    BatchNorm,
    Concatenate,
    Conv2d,
    ConvTranspose2d,
    Custom,
    Dense,
    DepthwiseConv2d,
    Dropout,
    Embedding,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool2d,
    Multiply,
    Rbm,
    Recurrent,
    Reshape,
    Shape,
)
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
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.recurrent import BidirectionalCell
from workloads.with_torch.sequences import (
    AttentionModule,
    ClassTokenModule,
    LayerNormModule,
    PositionTable,
    RmsNormModule,
    TiedLogits,
)
from workloads.with_torch.weight import Weight

Weights = Mapping[str, Weight]


def build_module(layer: Layer, inputs: Shape) -> nn.Module:
    """Make a layer's module, with weights of PyTorch's own choice, for inputs of that canonical shape."""
    match layer:
        case Conv2d():
            return nn.Conv2d(
                inputs[-1],
                layer.filters,
                layer.kernel,
                stride=layer.stride,
                padding=layer.padding,
                bias=layer.bias,
            )
        case DepthwiseConv2d():
            return nn.Conv2d(
                inputs[-1],
                inputs[-1],
                layer.kernel,
                stride=layer.stride,
                padding=layer.padding,
                groups=inputs[-1],
                bias=layer.bias,
            )
        case ConvTranspose2d():
            return CroppedConvTranspose2d(layer, inputs[-1])
        case Dense():
            return nn.Linear(inputs[-1], layer.units, bias=layer.bias)
        case BatchNorm():
            return GlobalBatchNorm(layer, inputs[-1])
        case Embedding():
            return nn.Embedding(layer.vocabulary, layer.units)
        case Recurrent():
            return BidirectionalCell(layer, inputs[-1])
        case Rbm():
            return RbmLayer(inputs[-1], layer.units)
        case LayerNorm():
            return LayerNormModule(layer, inputs[-1])
        case RmsNorm():
            return RmsNormModule(layer, inputs[-1])
        case PositionEmbedding():
            return PositionTable(inputs)
        case ClassToken():
            return ClassTokenModule(inputs[-1])
        case Attention():
            return AttentionModule(layer, inputs[0])
        case TiedDense():
            return TiedLogits(layer)
        case Custom():
            with torch.device("cpu"):  # its buffers have values that no one else knows
                made: nn.Module = resolve_name(layer.torch)(**dict(layer.arguments))
            return made
        case _:
            return _without_weights(layer)


def list_weights(layer: Layer, module: nn.Module) -> Weights:
    """Return parameters and moving statistics by canonical name, in the order of `list_parameters`."""
    match layer:
        case Conv2d() | ConvTranspose2d():
            return _kernel_and_bias(module, axes=(2, 3, 1, 0))
        case DepthwiseConv2d():
            return _kernel_and_bias(module, axes=(2, 3, 0, 1))
        case Dense():
            return _kernel_and_bias(module, axes=(1, 0))
        case Embedding():
            return _kernel_and_bias(module, axes=None)
        case BatchNorm() | Rbm() | LayerNorm() | RmsNorm() | PositionEmbedding() | ClassToken() | TiedDense():
            return {name: Weight(tensor=tensor) for name, tensor in _own(module).items()}
        case Recurrent():
            assert isinstance(module, BidirectionalCell)
            return module.weights()
        case Custom():
            return _declared(layer, module)
        case _:
            return {}


class RbmLayer(nn.Module):
    """Probabilities of hidden units; `visible_bias` waits for contrastive divergence."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(inputs, units))
        self.bias = nn.Parameter(torch.zeros(units))
        self.visible_bias = nn.Parameter(torch.zeros(inputs))

    def forward(self, visible: Tensor) -> Tensor:
        """[batch, input] -> [batch, unit]."""
        return torch.sigmoid(functional.linear(visible, self.kernel.t(), self.bias))


PRODUCTS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear, RbmLayer, BidirectionalCell, TiedLogits)
"""Modules that multiply by a kernel: their outputs have the dtype that was computed in."""


class CroppedConvTranspose2d(nn.ConvTranspose2d):
    """Transposed convolution with an output of `stride` times its input; of an odd excess the larger half is
    cut at the end, as in Keras.
    """

    def __init__(self, layer: ConvTranspose2d, channels: int) -> None:
        padding = (layer.kernel - layer.stride) // 2
        super().__init__(
            channels, layer.filters, layer.kernel, stride=layer.stride, padding=padding, bias=layer.bias
        )
        self._factor = layer.stride

    def forward(self, features: Tensor) -> Tensor:  # type: ignore[override]  # no output_size here
        """[batch, channel, height, width] -> [batch, filter, height * stride, width * stride]."""
        height, width = (size * self._factor for size in features.shape[2:])
        return super().forward(features)[..., :height, :width]


class _Lambda(nn.Module):
    """A function of the inputs, without weights."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self._function(*inputs)


def _without_weights(layer: Layer) -> nn.Module:
    match layer:
        case Activation():
            return _Lambda(_choose_function(layer))
        case MaxPool2d():
            return nn.MaxPool2d(layer.size, stride=layer.stride, padding=layer.padding)
        case AvgPool2d():
            return _average_pool(layer)
        case GlobalAveragePool():
            return _Lambda(lambda features: features.mean((2, 3) if features.ndim == 4 else 1))
        case Flatten():
            return _Lambda(lambda features: move_channels_last(features).flatten(1))
        case Reshape():
            return _Lambda(lambda vector: vector.view(-1, *layer.shape).permute(0, 3, 1, 2))
        case Dropout():
            return nn.Dropout(layer.rate)
        case Add():
            return _Lambda(lambda left, right: left + layer.scale * right)
        case Multiply():
            return _Lambda(lambda features, factors: features * factors[:, :, None, None])
        case Concatenate():
            return _Lambda(lambda *features: torch.cat(features, 1))
        case Product():
            return _Lambda(lambda left, right: left * right)
        case FirstStep():
            return _Lambda(lambda sequence: sequence[:, 0])
        case ToSequence():
            return _Lambda(lambda features: move_channels_last(features).flatten(1, 2))
        case Float32():
            return _Lambda(lambda value: value)
        case _:
            raise ValueError(f"{layer} has no module in PyTorch")


def move_channels_last(features: Tensor) -> Tensor:
    """[batch, channel, height, width] -> [batch, height, width, channel]; others as they are."""
    return features.permute(0, 2, 3, 1) if features.ndim == 4 else features


def _average_pool(layer: AvgPool2d) -> nn.Module:
    if layer.same:
        return nn.AvgPool2d(layer.size, stride=1, padding=layer.size // 2, count_include_pad=False)
    return nn.AvgPool2d(layer.size)


def _choose_function(layer: Activation) -> Callable[[Tensor], Tensor]:
    functions: Mapping[str, Callable[[Tensor], Tensor]] = {
        "relu": functional.relu,
        "relu6": functional.relu6,
        "leaky_relu": lambda value: functional.leaky_relu(value, layer.slope),
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "swish": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda value: functional.gelu(value, approximate="tanh"),
    }
    return functions[layer.kind]


def _kernel_and_bias(module: nn.Module, *, axes: tuple[int, ...] | None) -> Weights:
    """Rename PyTorch's `weight` to `kernel`."""
    names = {"weight": ("kernel", axes), "bias": ("bias", None)}
    return {
        names[name][0]: Weight(tensor=parameter, axes=names[name][1])
        for name, parameter in module.named_parameters()
    }


def _declared(layer: Custom, module: nn.Module) -> Weights:
    """Weights of someone's own layer. Raises ValueError unless they are those that it declares."""
    declared, own = dict(layer.parameters), _own(module)
    shapes = {name: tuple(tensor.shape) for name, tensor in own.items()}
    parameters = {name for name, _ in module.named_parameters()}
    if {name: shapes[name] for name in shapes if name in parameters | set(declared)} != declared:
        raise ValueError(f"layer {layer.torch!r} has weights {shapes}, expected {declared}")
    return {name: Weight(tensor=own[name]) for name in declared}


def _own(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
