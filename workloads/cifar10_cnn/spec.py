"""Two wide convolutions on CIFAR-10.

After Marques, Falcao, Alexandre 2018, "Distributed learning of CNNs on heterogeneous CPU/GPU
architectures". Known of it is the abstract: CIFAR-10, two convolution layers of varied sizes, 500 and
1500 kernels where splitting them over devices gains most. Kernel size, pooling, hidden units, batch size
and optimizer are not known, nor are epochs, so what follows is our assumption: 5x5 kernels that keep the
size, ReLU, 2x2 max-pooling, 64 hidden units, and ten epochs for a full training, as in TensorFlow's tutorial
of such a network on CIFAR-10 ("Convolutional Neural Network (CNN)").
"""

import math
from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.layers import Activation, Conv2d, Dense, Flatten, Layer, MaxPool2d
from workloads.network import Network, sequential
from workloads.spec import Quality, Sgd, WorkloadSpec, classifier

VERSION = 1

_EPOCHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of the network and its optimizer.

    Attributes:
        kernels: filters of each convolution.
        kernel_size: side of each kernel, odd.
        pool_size: side of the squares of which max-pooling behind each convolution keeps one value.
        dense_units: units of the hidden dense layer.
        learning_rate, momentum: parameters of stochastic gradient descent.
    """

    kernels: tuple[int, ...] = (500, 1500)
    kernel_size: int = 5
    pool_size: int = 2
    dense_units: int = 64
    learning_rate: float = 0.01
    momentum: float = 0.9

    def __post_init__(self) -> None:
        smallest = {
            "kernels": min(self.kernels, default=0),
            "kernel_size": self.kernel_size,
            "pool_size": self.pool_size,
            "dense_units": self.dense_units,
        }
        for name, value in smallest.items():
            if value < 1:
                raise ValueError(f"cifar10_cnn {name}={getattr(self, name)} must be at least 1")
        if self.kernel_size % 2 == 0:
            raise ValueError(f"cifar10_cnn kernel_size={self.kernel_size} must be odd")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"cifar10_cnn learning_rate={self.learning_rate} must be above 0 and finite")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"cifar10_cnn momentum={self.momentum} must lie in [0, 1)")


def make(options: Options) -> WorkloadSpec:
    """Spell the task out."""
    return classifier(
        "cifar10_cnn",
        _network(options),
        version=VERSION,
        optimizer=Sgd(learning_rate=options.learning_rate, momentum=options.momentum),
        data=DataNeed(data_set="workloads.data.cifar10:CIFAR10"),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.7),
        epochs=_EPOCHS,
    )


def _network(options: Options) -> Network:
    """Images -> ten logits."""
    layers: list[Layer] = []
    for filters in options.kernels:
        padding = options.kernel_size // 2
        layers += (
            Conv2d(filters=filters, kernel=options.kernel_size, padding=padding),
            Activation(kind="relu"),
            MaxPool2d(size=options.pool_size),
        )
    layers += (Flatten(), Dense(units=options.dense_units, initializer="he"), Activation(kind="relu"))
    return sequential((32, 32, 3), *layers, Dense(units=10))
