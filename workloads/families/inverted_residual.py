"""Inverted residual blocks (Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks").

A 1x1 convolution widens, a depthwise one filters, a 1x1 without activation narrows; where the shape has not
changed, the block's input is added. EfficientNet puts squeeze and excitation before the last.
"""

from dataclasses import dataclass

from workloads.families.blocks import NORM, plain_conv
from workloads.families.classifier import scaled
from workloads.layers import Activation, Add, Dense, DepthwiseConv2d, GlobalAveragePool, Multiply
from workloads.network import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Blocks of one size.

    Attributes:
        stride: stride of the first block; the others have 1.
    """

    expansion: int
    filters: int
    blocks: int
    stride: int
    kernel: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Settings that all blocks of a network share.

    Attributes:
        squeezed: share of a block's input channels that its squeeze and excitation is narrowed to (Hu et al.
            2018, "Squeeze-and-Excitation Networks"); None leaves that out.
    """

    activation: Activation
    width: float
    squeezed: float | None = None


def inverted_residuals(
    draft: Draft, start: int, stages: tuple[Stage, ...], *, channels: int, style: Style
) -> int:
    """Append the blocks of all stages behind `start` with `channels` outputs; return the last index."""
    for stage in stages:
        filters = scaled(stage.filters, style.width)
        for index in range(stage.blocks):
            stride = 1 if index else stage.stride
            end = _block(draft, start, stage, channels=channels, stride=stride, style=style)
            start = draft.add(Add(), start, end) if (stride, filters) == (1, channels) else end
            channels = filters
    return start


def _block(draft: Draft, start: int, stage: Stage, *, channels: int, stride: int, style: Style) -> int:
    """Append one block without its sum."""
    expanded, kernel = stage.expansion * channels, stage.kernel
    node = start
    if stage.expansion > 1:
        node = draft.chain(plain_conv(expanded, 1), NORM, style.activation, start=node)
    depthwise = DepthwiseConv2d(kernel=kernel, stride=stride, padding=(kernel - 1) // 2, bias=False)
    node = draft.chain(depthwise, NORM, style.activation, start=node)
    if style.squeezed is not None:
        squeezed = max(1, int(channels * style.squeezed))
        node = _excited(draft, node, expanded, squeezed=squeezed, activation=style.activation)
    return draft.chain(plain_conv(scaled(stage.filters, style.width), 1), NORM, start=node)


def _excited(draft: Draft, start: int, channels: int, *, squeezed: int, activation: Activation) -> int:
    """Append a factor for each channel, made of the means of all."""
    factors = draft.chain(
        GlobalAveragePool(),
        Dense(units=squeezed, initializer="he"),
        activation,
        Dense(units=channels),
        Activation(kind="sigmoid"),
        start=start,
    )
    return draft.add(Multiply(), start, factors)
