"""What a workload is: layers, loss, optimizer, data and target, told once for every framework."""

import math
from dataclasses import dataclass
from typing import Literal

Activation = Literal["relu"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv2d:
    """Square convolution over [batch, height, width, channel] with zero padding of `padding` on each side."""

    filters: int
    kernel: int
    stride: int = 1
    padding: int = 0
    activation: Activation = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPool2d:
    """Square max-pooling whose stride is its size; a remainder at the border is dropped."""

    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten:
    """[batch, height, width, channel] -> [batch, height * width * channel], channels fastest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Fully connected layer with bias."""

    units: int
    activation: Activation = None


Layer = Conv2d | MaxPool2d | Flatten | Dense


@dataclass(frozen=True, slots=True, kw_only=True)
class Sgd:
    """Stochastic gradient descent with heavy-ball momentum: v <- momentum v + g; w <- w - learning_rate v."""

    learning_rate: float
    momentum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One training task, complete: any framework built from it computes the same.

    Attributes:
        version: raised when the code changes what is computed; part of every trial_id.
        layers: a sequential network; the last layer gives the logits, [batch, num_classes], in float32.
        input_shape: (height, width, channel) of one sample.
        data: name of a data set in `workloads/data/`.
        quality_metric: what `evaluate` reports on held-out data.
        quality_target: the value of that metric that a finished training is expected to reach.
        torch_builder, keras_builder: `module:function`, (WorkloadSpec, seed) -> model with logits as output.
    """

    name: str
    version: int
    layers: tuple[Layer, ...]
    input_shape: tuple[int, int, int]
    num_classes: int
    optimizer: Sgd
    data: str
    quality_metric: str
    quality_target: float
    torch_builder: str
    keras_builder: str

    @property
    def sample_bytes(self) -> int:
        """Bytes of one float32 input sample."""
        return 4 * math.prod(self.input_shape)
