"""(layers, shares, speeds, link, rest) -> the time of a step with split convolutions. Pure.

T = rest + sum over layers of [max over ranks (share x work / speed) + bytes / bandwidth + messages x latency]

Our reconstruction: of Marques, Falcao, Alexandre 2018 the equations are not known. All traffic goes through
the master's end of the links, and none of it is hidden behind computing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.work_share import KernelLink
from workloads.layers import Conv2d, pair
from workloads.network import INPUT, Network
from workloads.shapes import find_input_shapes, find_shapes

_FLOAT32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLayer:
    """A convolution in a step of so many samples.

    Attributes:
        node: node of its network.
        geometry: all of its shape but channels and kernels, in words; a device's speed depends on both.
        flops: forward and backward.
        input_bytes, output_bytes: size of all its feature maps on the wire.
        needs_input_gradient: True if a layer below it is trained.
    """

    node: int
    geometry: str
    channels: int
    kernels: int
    flops: float
    input_bytes: float
    output_bytes: float
    needs_input_gradient: bool


def find_layers(network: Network, *, batch: int, value_bytes: int = _FLOAT32_BYTES) -> list[SplitLayer]:
    """The convolutions of a network in their order."""
    layers = []
    shapes = zip(network.nodes, find_input_shapes(network), find_shapes(network), strict=True)
    for index, (node, read, made) in enumerate(shapes):
        if isinstance(node.layer, Conv2d):
            height, width = pair(node.layer.kernel)
            is_first = node.inputs == (INPUT,)
            forward = 2 * batch * made[0] * made[1] * made[2] * read[2] * height * width
            layers.append(
                SplitLayer(
                    node=index,
                    geometry=f"{read[0]}x{read[1]} to {made[0]}x{made[1]} by {height}x{width}",
                    channels=read[2],
                    kernels=node.layer.filters,
                    flops=(2 if is_first else 3) * forward,
                    input_bytes=value_bytes * batch * read[0] * read[1] * read[2],
                    output_bytes=value_bytes * batch * made[0] * made[1] * made[2],
                    needs_input_gradient=not is_first,
                )
            )
    return layers


def step_seconds(
    layers: Sequence[SplitLayer],
    shares: Sequence[Sequence[int]],
    speeds: Sequence[Sequence[float]],
    *,
    rest_seconds: float,
    link: KernelLink,
) -> float:
    """Predict the seconds of a step; `shares` are kernels and `speeds` FLOP/s, both [layer][rank], rank 0
    first.
    """
    return rest_seconds + sum(
        _compute_seconds(layer, held, fast) + _traffic_seconds(layer, held, link)
        for layer, held, fast in zip(layers, shares, speeds, strict=True)
    )


def bound(
    layers: Sequence[SplitLayer],
    speeds: Sequence[Sequence[float]],
    *,
    alone_seconds: float,
    rest_seconds: float,
) -> float:
    """Amdahl's: the speed-up over the master alone if traffic were free and shares were fractions."""
    together = sum(layer.flops / sum(fast) for layer, fast in zip(layers, speeds, strict=True))
    return alone_seconds / (rest_seconds + together)


def least_fraction(speed_up: float, devices: int) -> float:
    """Return the least share of one device's step that convolutions need for that speed-up on equal devices
    (Amdahl).
    """
    return (1 - 1 / speed_up) / (1 - 1 / devices)


def most_speed_up(fraction: float, devices: float) -> float:
    """Amdahl's law: of so many equal devices that share this fraction of the step of one."""
    return 1 / (1 - fraction + fraction / devices)


def _compute_seconds(layer: SplitLayer, held: Sequence[int], fast: Sequence[float]) -> float:
    return max(
        layer.flops * kernels / layer.kernels / speed for kernels, speed in zip(held, fast, strict=True)
    )


def _traffic_seconds(layer: SplitLayer, held: Sequence[int], link: KernelLink) -> float:
    """Input and gradient out, with an order each; maps and the input's gradient back."""
    seconds = 0.0
    for kernels in held[1:]:
        if kernels:
            inputs = layer.input_bytes * (2 if layer.needs_input_gradient else 1)
            outputs = 2 * layer.output_bytes * kernels / layer.kernels
            messages = 6 if layer.needs_input_gradient else 5
            seconds += (inputs + outputs) / link.bytes_per_second + messages * link.latency_seconds
    return seconds
