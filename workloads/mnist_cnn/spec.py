"""A small convolutional network that reads MNIST's handwritten digits.

After "Performance of Parallel Computing in Training Deep Learning Models" (SITITO, article 1043). Known of it
is the abstract: TensorFlow on Colab's CPU, GPU and TPU; a CNN on MNIST among the networks; time and quality
as functions of the model's parameters. Layers, units, batch size, optimizer and epochs are not known, so what
follows is our assumption: the common network of two convolutions, without dropout, narrow enough for a CPU,
and 15 epochs for a full training, as in Keras' example of such a network (keras.io, "Simple MNIST convnet").
"""

import math
from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.layers import Activation, Conv2d, Dense, Flatten, Layer, MaxPool2d
from workloads.network import Network, sequential
from workloads.spec import Quality, Sgd, WorkloadSpec, classifier

VERSION = 2

_EPOCHS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of the network and its optimizer.

    Attributes:
        filters: filters of each 3x3 convolution; each is followed by ReLU and 2x2 max-pooling.
        dense_units: units of the hidden dense layer.
        learning_rate, momentum: parameters of stochastic gradient descent.
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
    """Spell the task out."""
    return classifier(
        "mnist_cnn",
        _network(options),
        version=VERSION,
        optimizer=Sgd(learning_rate=options.learning_rate, momentum=options.momentum),
        data=DataNeed(data_set="workloads.data.mnist:MNIST"),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.95),
        epochs=_EPOCHS,
    )


def _network(options: Options) -> Network:
    """Images -> ten logits."""
    layers: list[Layer] = []
    for filters in options.filters:
        layers += (Conv2d(filters=filters, kernel=3), Activation(kind="relu"), MaxPool2d(size=2))
    layers += (Flatten(), Dense(units=options.dense_units, initializer="he"), Activation(kind="relu"))
    return sequential((28, 28, 1), *layers, Dense(units=10))
