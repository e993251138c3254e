"""A small convolutional network that reads MNIST's handwritten digits.

After "Performance of Parallel Computing in Training Deep Learning Models" (SITITO, article 1043). Known of it
is the abstract: TensorFlow on Colab's CPU, GPU and TPU; a CNN on MNIST among the networks; time and quality
as functions of the model's parameters. Layers, units, batch size, optimizer and epochs are not known, so what
follows is our assumption: the common network of two convolutions, without dropout, narrow enough for a CPU.
"""

import math
from dataclasses import dataclass

from workloads.spec import Conv2d, Dense, Flatten, Layer, MaxPool2d, Sgd, WorkloadSpec

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of the network and its optimizer.

    Attributes:
        filters: of each 3x3 convolution; each is followed by ReLU and 2x2 max-pooling.
        dense_units: of the hidden dense layer.
        learning_rate, momentum: of stochastic gradient descent.
    """

    filters: tuple[int, ...] = (16, 32)
    dense_units: int = 128
    learning_rate: float = 0.03
    momentum: float = 0.95

    def __post_init__(self) -> None:
        for name, value in (("filters", min(self.filters, default=0)), ("dense_units", self.dense_units)):
            if value < 1:
                raise ValueError(f"mnist_cnn {name}={getattr(self, name)} must be at least 1")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"mnist_cnn learning_rate={self.learning_rate} must be above 0 and finite")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"mnist_cnn momentum={self.momentum} must lie in [0, 1)")


def make(options: Options) -> WorkloadSpec:
    """Spell the network out."""
    return WorkloadSpec(
        name="mnist_cnn",
        version=VERSION,
        layers=_layers(options),
        input_shape=(28, 28, 1),
        num_classes=10,
        optimizer=Sgd(learning_rate=options.learning_rate, momentum=options.momentum),
        data="mnist",
        quality_metric="accuracy",
        quality_target=0.95,
        torch_builder="workloads.sequential_torch:build",
        keras_builder="workloads.sequential_keras:build",
    )


def _layers(options: Options) -> tuple[Layer, ...]:
    convolutions: list[Layer] = []
    for filters in options.filters:
        convolutions += (Conv2d(filters=filters, kernel=3, activation="relu"), MaxPool2d(size=2))
    return (
        *convolutions,
        Flatten(),
        Dense(units=options.dense_units, activation="relu"),
        Dense(units=10),
    )
