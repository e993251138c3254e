"""Shapes of what flows through a network and of its kernels, from the spec alone."""

import math

from workloads.spec import Conv2d, Dense, Flatten, Layer, MaxPool2d, WorkloadSpec

Shape = tuple[int, ...]


def shapes_of(spec: WorkloadSpec) -> tuple[Shape, ...]:
    """Input shape of each layer, then the shape of the logits, all without the batch axis.

    Raises:
        ValueError: a layer leaves nothing of its input, or the last one does not give `num_classes` values.
    """
    shapes: list[Shape] = [spec.input_shape]
    for index, layer in enumerate(spec.layers):
        shapes.append(_output_shape(layer, shapes[-1]))
        if min(shapes[-1]) < 1:
            raise ValueError(
                f"workload {spec.name!r}: layer {index}, {layer}, leaves nothing of its input {shapes[-2]}; "
                "fewer or smaller layers are possible"
            )
    if shapes[-1] != (spec.num_classes,):
        raise ValueError(
            f"workload {spec.name!r} has {spec.num_classes} classes; its layers end in shape {shapes[-1]}"
        )
    return tuple(shapes)


def kernel_shapes_of(spec: WorkloadSpec) -> dict[int, Shape]:
    """Index of each layer with weights -> shape of its kernel.

    A convolution has (height, width, input channel, filter), a dense layer (input, unit).
    """
    kernels: dict[int, Shape] = {}
    for index, (layer, inputs) in enumerate(zip(spec.layers, shapes_of(spec), strict=False)):
        match layer:
            case Conv2d():
                kernels[index] = (layer.kernel, layer.kernel, inputs[-1], layer.filters)
            case Dense():
                kernels[index] = (inputs[-1], layer.units)
    return kernels


def _output_shape(layer: Layer, inputs: Shape) -> Shape:
    match layer:
        case Conv2d():
            reach = 2 * layer.padding - layer.kernel
            return (*((size + reach) // layer.stride + 1 for size in inputs[:2]), layer.filters)
        case MaxPool2d():
            return (*(size // layer.size for size in inputs[:2]), inputs[2])
        case Flatten():
            return (math.prod(inputs),)
        case Dense():
            return (layer.units,)
