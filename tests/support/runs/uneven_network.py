"""A network of what frameworks do differently unless told: odd borders, strides that leave a rest, joints."""

from workloads.layers import (
    Activation,
    Add,
    AvgPool2d,
    BatchNorm,
    Concatenate,
    Conv2d,
    ConvTranspose2d,
    Dense,
    DepthwiseConv2d,
    Flatten,
    GlobalAveragePool,
    MaxPool2d,
    Multiply,
    Reshape,
)
from workloads.network import Draft, Network


def uneven_network() -> Network:
    """Images of 11x14 -> three values. Pooling with padding sees negative values only in some corners."""
    draft = Draft(input_shape=(11, 14, 3))
    stem = draft.chain(Conv2d(filters=4, kernel=3, stride=2, padding=1), BatchNorm(momentum=0.7))  # 6x7
    pooled = draft.chain(MaxPool2d(size=3, stride=2, padding=1), start=stem)  # 3x4
    even = draft.chain(Conv2d(filters=4, kernel=2, padding=1), MaxPool2d(size=2), start=stem)  # 7x8, 3x4
    means = draft.chain(AvgPool2d(size=3, same=True), AvgPool2d(size=2), start=stem)  # 3x3, a row dropped
    rows = draft.chain(Conv2d(filters=4, kernel=(1, 2), padding=(0, 1), bias=False), start=means)  # 3x4
    joined = draft.add(Concatenate(), draft.add(Add(scale=0.3), pooled, even), rows)
    channels = draft.chain(
        DepthwiseConv2d(kernel=3, stride=2, padding=1), Activation(kind="leaky_relu", slope=0.1), start=joined
    )  # 2x2
    factors = draft.chain(GlobalAveragePool(), Dense(units=8), Activation(kind="sigmoid"), start=joined)
    draft.chain(
        ConvTranspose2d(filters=2, kernel=5, stride=2, initializer="he"),  # 4x4
        BatchNorm(scale=False),
        Activation(kind="swish"),
        start=draft.add(Multiply(), channels, factors),
    )
    draft.chain(Flatten(), Dense(units=12), Activation(kind="tanh"), Reshape(shape=(2, 3, 2)))
    draft.chain(ConvTranspose2d(filters=3, kernel=4, stride=3), Activation(kind="relu6"))  # 6x9
    draft.chain(GlobalAveragePool(), Dense(units=3))
    return draft.done()
