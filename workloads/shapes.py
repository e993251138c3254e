"""Shapes of a network's feature maps and parameters, from the graph alone."""

import math
from collections.abc import Mapping

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
    pair,
)
from workloads.network import INPUT, Network
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

GATES = {"lstm": 4, "gru": 3}


class UnsuitableInputError(ValueError):
    """An input of a size that the network cannot take, as an image that is too small."""


def find_shapes(network: Network) -> tuple[Shape, ...]:
    """Output shape of each node, without the batch axis.

    Raises:
        UnsuitableInputError: a layer leaves no output of its input.
        ValueError: a layer cannot take inputs of such shapes.
    """
    shapes: list[Shape] = []
    for index, node in enumerate(network.nodes):
        inputs = [network.input_shape if source == INPUT else shapes[source] for source in node.inputs]
        try:
            shape = _output_shape(node.layer, inputs)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"layer {index}, {node.layer}, cannot take inputs of shape {inputs}") from error
        if not shape or min(shape) < 1:
            raise UnsuitableInputError(
                f"layer {index}, {node.layer}, leaves no output of its input {inputs[0]}; "
                "a larger input of the network, or fewer or smaller layers are possible"
            )
        shapes.append(shape)
    return tuple(shapes)


def find_input_shapes(network: Network) -> tuple[Shape, ...]:
    """Shape of the first input of each node, without the batch axis."""
    shapes = find_shapes(network)
    return tuple(
        network.input_shape if node.inputs[0] == INPUT else shapes[node.inputs[0]] for node in network.nodes
    )


def list_parameters(layer: Layer, inputs: Shape) -> Mapping[str, Shape]:
    """Name -> shape of each array that a layer keeps, in canonical layout.

    Kernels: convolution (height, width, input channel, filter), depthwise (height, width, channel, 1),
    transposed (height, width, filter, input channel), dense (input, unit), recurrent (input, gate * unit)
    with the gates in the order input, forget, cell, output, or update, reset, new. The bias of an LSTM is one
    row, that of a GRU two: of the input's product and of the recurrent one.
    """
    match layer:
        case Conv2d():
            return _with_bias(layer.bias, layer.filters, (*pair(layer.kernel), inputs[-1], layer.filters))
        case DepthwiseConv2d():
            return _with_bias(layer.bias, inputs[-1], (layer.kernel, layer.kernel, inputs[-1], 1))
        case ConvTranspose2d():
            kernel = (layer.kernel, layer.kernel, layer.filters, inputs[-1])
            return _with_bias(layer.bias, layer.filters, kernel)
        case Dense():
            return _with_bias(layer.bias, layer.units, (inputs[-1], layer.units))
        case Rbm():
            return {
                "kernel": (inputs[-1], layer.units),
                "bias": (layer.units,),
                "visible_bias": (inputs[-1],),
            }
        case BatchNorm():
            names = ("gamma", "beta", "moving_mean", "moving_variance")
            return {name: (inputs[-1],) for name in names if layer.scale or name != "gamma"}
        case LayerNorm():
            return {"gamma": (inputs[-1],), "beta": (inputs[-1],)}
        case RmsNorm():
            return {"gamma": (inputs[-1],)}
        case PositionEmbedding():
            return {"kernel": inputs}
        case ClassToken():
            return {"token": (inputs[-1],)}
        case TiedDense():
            return {"bias": (layer.units,)} if layer.bias else {}
        case Embedding():
            return {"kernel": (layer.vocabulary, layer.units)}
        case Recurrent():
            return _recurrent_parameters(layer, inputs[-1])
        case Custom():
            return dict(layer.parameters)
        case _:
            return {}


def network_parameters(network: Network) -> dict[str, Shape]:
    """`<node index>.<name>` -> shape, in the order of the nodes."""
    return {
        f"{index}.{name}": shape
        for index, (node, inputs) in enumerate(zip(network.nodes, find_input_shapes(network), strict=True))
        for name, shape in list_parameters(node.layer, inputs).items()
    }


def is_trained(name: str) -> bool:
    """Return whether gradients change the parameter of this canonical name; moving statistics are not
    weights.
    """
    return "moving_" not in name


def _with_bias(has_bias: bool, size: int, kernel: Shape) -> dict[str, Shape]:
    return {"kernel": kernel, "bias": (size,)} if has_bias else {"kernel": kernel}


def _recurrent_parameters(layer: Recurrent, inputs: int) -> dict[str, Shape]:
    width = GATES[layer.cell] * layer.units
    bias: Shape = (width,) if layer.cell == "lstm" else (2, width)
    shapes = {"kernel": (inputs, width), "recurrent_kernel": (layer.units, width), "bias": bias}
    return {
        f"{direction}_{name}": shape
        for direction in ("forward", "backward")
        for name, shape in shapes.items()
    }


def _output_shape(layer: Layer, inputs: list[Shape]) -> Shape:
    first = inputs[0]
    match layer:
        case Conv2d():
            sizes = zip(first[:2], pair(layer.kernel), pair(layer.padding), strict=True)
            _require(first, axes=3)
            return (
                *(_slid(size, stride_size, pad, layer.stride) for size, stride_size, pad in sizes),
                layer.filters,
            )
        case DepthwiseConv2d():
            _require(first, axes=3)
            return (*(_slid(size, layer.kernel, layer.padding, layer.stride) for size in first[:2]), first[2])
        case ConvTranspose2d():
            _require(first, axes=3)
            return (first[0] * layer.stride, first[1] * layer.stride, layer.filters)
        case MaxPool2d():
            _require(first, axes=3)
            stride = layer.stride or layer.size
            return (*(_slid(size, layer.size, layer.padding, stride) for size in first[:2]), first[2])
        case AvgPool2d():
            _require(first, axes=3)
            return first if layer.same else (*(size // layer.size for size in first[:2]), first[2])
        case Dense() | Rbm() | TiedDense():
            return (*first[:-1], layer.units)
        case GlobalAveragePool():
            return first[-1:]
        case Flatten():
            return (math.prod(first),)
        case Reshape():
            if math.prod(layer.shape) != math.prod(first):
                raise ValueError("another number of values")
            return layer.shape
        case Add() | Product():
            if inputs != [first, first]:
                raise ValueError("two inputs of one shape are needed")
            return first
        case Multiply():
            if inputs[1:] != [first[-1:]]:
                raise ValueError("one value for each channel is needed")
            return first
        case Concatenate():
            if any(shape[:-1] != first[:-1] for shape in inputs):
                raise ValueError("other axes than the last differ")
            return (*first[:-1], sum(shape[-1] for shape in inputs))
        case Embedding():
            return (*first, layer.units)
        case Recurrent():
            _require(first, axes=2)
            return (first[0], 2 * layer.units) if layer.sequences else (2 * layer.units,)
        case ClassToken():
            _require(first, axes=2)
            return (first[0] + 1, first[1])
        case FirstStep():
            _require(first, axes=2)
            return first[1:]
        case ToSequence():
            _require(first, axes=3)
            return (first[0] * first[1], first[2])
        case Attention():
            return _attended(layer, inputs)
        case Custom():
            return layer.output_shape
        case LayerNorm() | RmsNorm() | PositionEmbedding():
            _require(first, axes=2)
            return first
        case BatchNorm() | Activation() | Dropout() | Float32():
            return first


def _attended(layer: Attention, inputs: list[Shape]) -> Shape:
    """Queries, keys and values as one input or three -> [step, query unit]."""
    steps, widths = inputs[0][0], layer.widths
    if inputs not in ([(steps, sum(widths))], [(steps, width) for width in widths]):
        raise ValueError(f"queries, keys and values of {widths} units are needed")
    return (steps, widths[0])


def _require(shape: Shape, *, axes: int) -> None:
    if len(shape) != axes:
        raise ValueError(f"{axes} axes are needed")


def _slid(size: int, kernel: int, padding: int, stride: int) -> int:
    """Positions of a kernel that slides over `size` values and the padding at both ends."""
    return (size + 2 * padding - kernel) // stride + 1
