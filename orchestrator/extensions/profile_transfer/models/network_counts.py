"""Published name of a network and its sizes -> counts of its training step. Pure.

Three small networks of the published profiles are no workloads here. Their layers are those of PROFET's
`data_generation/workload/model_info.py` (github.com/ddps-lab/profet @e69477f, MIT).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workloads.families.blocks import NORM, RELU, dense_relu, pooled_logits
from workloads.families.classifier import CHANNELS, ImageOptions, image_classifier
from workloads.flops import train_step_flops
from workloads.layers import Add, Conv2d, Dense, Flatten, MaxPool2d
from workloads.network import Draft, Network, sequential
from workloads.registry import declared_workload
from workloads.shapes import UnsuitableInputError
from workloads.spec import WorkloadSpec
from workloads.traffic import train_step_bytes

COUNTS = ("flops", "value_bytes", "weight_bytes", "layers", "samples", "pixels")
"""Columns of counts of one step in fp32; pixels are those of all its images."""

WORKLOADS = {
    "AlexNet": "alexnet",
    "InceptionResNetV2": "inception_resnet_v2",
    "InceptionV3": "inception_v3",
    "LeNet5": "lenet5",
    "MobileNetV2": "mobilenet_v2",
    "ResNet18": "resnet18",
    "ResNet34": "resnet34",
    "ResNet50": "resnet50",
    "VGG11": "vgg11",
    "VGG13": "vgg13",
    "VGG16": "vgg16",
    "VGG19": "vgg19",
}
"""Published name -> the same network here."""

CLASSES: Mapping[int, int] = {32: 10, 64: 100, 128: 100, 224: 1000, 256: 1000}
"""Image size -> classes in the published runs: their `data_generation/`."""

_FEWEST_CLASSES = 10
_VALUE_BYTES = 4
_MOST_BATCH = 2**24


def count_outcomes(rows: Iterable[tuple[str, float, float]]) -> NDArray[np.float64]:
    """[row, count of COUNTS] of (model, batch size, image size); NaN where the network is not known here."""
    counts = [_counts(model, batch_size, image_size) for model, batch_size, image_size in rows]
    return np.array(counts, dtype=float).reshape(-1, len(COUNTS))


def _counts(model: str, batch_size: float, image_size: float) -> tuple[float, ...]:
    unknown = (np.nan,) * len(COUNTS)
    if np.isnan(image_size) or not 1 <= batch_size <= _MOST_BATCH:
        return unknown
    return _counted(model, int(batch_size), int(image_size)) or unknown


@cache
def _counted(model: str, batch_size: int, image_size: int) -> tuple[float, ...] | None:
    spec = published_spec(model, image_size=image_size)
    if spec is None:
        return None
    weight_bytes = train_step_bytes(spec, 0, value_bytes=_VALUE_BYTES)
    value_bytes = train_step_bytes(spec, batch_size, value_bytes=_VALUE_BYTES) - weight_bytes
    layers = sum(len(network.nodes) for network in spec.networks.values())
    pixels = batch_size * image_size**2
    flops = train_step_flops(spec, batch_size)
    return flops, value_bytes, weight_bytes, float(layers), float(batch_size), float(pixels)


def published_spec(model: str, *, image_size: int) -> WorkloadSpec | None:
    """Make a published network as its authors trained it; None: not known, or for no such images."""
    classes = CLASSES.get(image_size, _FEWEST_CLASSES)
    try:
        if model in WORKLOADS:
            knobs = {"image_size": image_size, "num_classes": classes, "momentum": 0.0}
            return declared_workload(WORKLOADS[model], knobs)
        if model in _SMALL:
            options = ImageOptions(image_size=image_size, num_classes=classes, momentum=0.0)
            network = _SMALL[model](image_size, classes)
            return image_classifier(model, options, network, version=1, smallest=_SMALLEST, epochs=2)
    except (UnsuitableInputError, ValueError):
        return None
    return None


_SMALLEST = 16


def _mnist_cnn(image_size: int, classes: int) -> Network:
    return sequential(
        (image_size, image_size, CHANNELS),
        Conv2d(filters=32, kernel=3),
        RELU,
        MaxPool2d(size=2),
        Conv2d(filters=64, kernel=3),
        RELU,
        MaxPool2d(size=2),
        Flatten(),
        Dense(units=classes),
    )


def _cifar10_cnn(image_size: int, classes: int) -> Network:
    return sequential(
        (image_size, image_size, CHANNELS),
        Conv2d(filters=32, kernel=3, padding=1),
        RELU,
        Conv2d(filters=32, kernel=3),
        RELU,
        MaxPool2d(size=2),
        Conv2d(filters=64, kernel=3, padding=1),
        RELU,
        Conv2d(filters=64, kernel=3),
        RELU,
        MaxPool2d(size=2),
        *dense_relu(512),
        Dense(units=classes),
    )


def _resnet_small(image_size: int, classes: int) -> Network:
    """Build four blocks with 1x1 convolutions only, as published."""
    draft = Draft(input_shape=(image_size, image_size, CHANNELS))
    stem = Conv2d(filters=64, kernel=7, stride=2, padding=3)
    node = draft.chain(stem, RELU, NORM, MaxPool2d(size=3, stride=2, padding=1))
    for filters, stride in ((64, 2), (64, 1), (128, 2), (128, 1)):
        first, second = Conv2d(filters=filters, kernel=1, stride=stride), Conv2d(filters=filters, kernel=1)
        residual = draft.chain(first, NORM, RELU, second, NORM, start=node)
        if stride > 1:
            node = draft.chain(Conv2d(filters=filters, kernel=1, stride=stride), NORM, start=node)
        node = draft.add(RELU, draft.add(Add(), node, residual))
    draft.chain(*pooled_logits(classes), start=node)
    return draft.done()


_SMALL: Mapping[str, Callable[[int, int], Network]] = {
    "CIFAR10_CNN": _cifar10_cnn,
    "MNIST_CNN": _mnist_cnn,
    "ResNetSmall": _resnet_small,
}
