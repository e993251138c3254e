"""Pieces that several architectures are made of."""

from workloads.layers import (
    Activation,
    BatchNorm,
    Conv2d,
    Dense,
    Flatten,
    GlobalAveragePool,
    Layer,
    Pair,
    pair,
)

RELU = Activation(kind="relu")
NORM = BatchNorm(epsilon=1e-3)
"""Epsilon as in `keras.applications`, where moving statistics keep 0.99: too slow for short trainings."""

NORM_WITHOUT_SCALE = BatchNorm(epsilon=1e-3, scale=False)


def same(kernel: int | Pair) -> int | Pair:
    """Padding that keeps height and width at stride 1, for a kernel of odd sides."""
    height, width = ((side - 1) // 2 for side in pair(kernel))
    return height if height == width else (height, width)


def pooled_logits(num_classes: int) -> tuple[Layer, ...]:
    """Feature maps -> logits."""
    return (GlobalAveragePool(), Dense(units=num_classes))


def dense_relu(*units: int) -> tuple[Layer, ...]:
    """Feature maps -> hidden units, layer behind layer."""
    hidden: list[Layer] = [Flatten()]
    for unit in units:
        hidden += (Dense(units=unit, initializer="he"), RELU)
    return tuple(hidden)


def plain_conv(filters: int, kernel: int | Pair, *, stride: int = 1) -> Conv2d:
    """A convolution that batch normalisation follows, so without a bias; at stride 1 it keeps the size."""
    return Conv2d(filters=filters, kernel=kernel, stride=stride, padding=same(kernel), bias=False)
