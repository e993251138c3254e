"""Knobs, data and target that the bundled image classifiers share."""

import math
from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.network import Network
from workloads.shapes import UnsuitableInputError
from workloads.spec import Quality, Sgd, WorkloadSpec, classifier

CHANNELS = 3
IMAGENET = {"image_size": 224, "num_classes": 1000}
LARGE_IMAGENET = {"image_size": 299, "num_classes": 1000}
"""Options with which the papers of these networks train on ImageNet."""
IMAGENET_SAMPLES = 1_281_167
"""Images to train on of ImageNet-1k (Russakovsky et al. 2015, table 2)."""
_CIFAR10_CLASSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """Knobs of a classifier of CIFAR-10's images.

    PROFET (Lee, Hur, Park, Lee 2022) sets image_size to 32, 64, 128, 224 and 256, with 10, 100, 100, 1000 and
    1000 classes, and trains by Keras' SGD at its defaults: learning rate 0.01, momentum 0.

    Attributes:
        image_size: side in pixels to which the images are resized.
        num_classes: number of logits. CIFAR-10 has 10 classes; more logits cost what they would with more.
        width: multiplies the filters and hidden units of every layer.
        learning_rate, momentum: parameters of stochastic gradient descent.
    """

    image_size: int = 32
    num_classes: int = _CIFAR10_CLASSES
    width: float = 1.0
    learning_rate: float = 0.01
    momentum: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeImageOptions(ImageOptions):
    """The same, where 32 pixels are too few: 128 is the smallest of PROFET's sizes that is enough."""

    image_size: int = 128


def image_classifier(
    name: str,
    options: ImageOptions,
    network: Network,
    *,
    version: int,
    smallest: int,
    epochs: float,
    target: float = 0.7,
) -> WorkloadSpec:
    """Spell the task out.

    Args:
        smallest: image size in pixels that the architecture takes.
        epochs: epochs of a full training. PROFET trains two on random images, enough to time steps and to
            learn nothing, so the value is that of the architecture's own paper if it states one.
        target: accuracy.

    Raises:
        UnsuitableInputError: the images are too small.
        ValueError: another knob is out of range.
    """
    _check(name, options)
    require_size(name, options.image_size, smallest=smallest)
    # More classes stand for another data set: an epoch of CIFAR-10 is a small part of one of it.
    is_cifar10 = options.num_classes == _CIFAR10_CLASSES
    return classifier(
        name,
        network,
        version=version,
        optimizer=Sgd(learning_rate=options.learning_rate, momentum=options.momentum),
        data=DataNeed(data_set="workloads.data.cifar10:CIFAR10", image_size=options.image_size),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=target),
        epochs=epochs if is_cifar10 else None,
        train_samples=count_samples_of_published_set(options.num_classes),
    )


def count_samples_of_published_set(num_classes: int) -> int | None:
    """Count the training images of the data set with so many classes, if it is not the one that is read."""
    return IMAGENET_SAMPLES if num_classes == IMAGENET["num_classes"] else None


def require_size(name: str, image_size: int, *, smallest: int) -> None:
    """Raise UnsuitableInputError for images that are too small for the architecture of that name."""
    if image_size < smallest:
        raise UnsuitableInputError(
            f"{name} image_size={image_size} is too small; it takes {smallest} pixels or more"
        )


def require_rates(name: str, *, learning_rate: float, width: float) -> None:
    """Raise ValueError for a learning rate or a width that is none."""
    for knob, value in (("learning_rate", learning_rate), ("width", width)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} {knob}={value} must be above 0 and finite")


def scaled(size: int, width: float) -> int:
    """Filters or units at that width, at least 1."""
    return max(1, round(size * width))


def _check(name: str, options: ImageOptions) -> None:
    require_rates(name, learning_rate=options.learning_rate, width=options.width)
    if not 0 <= options.momentum < 1:
        raise ValueError(f"{name} momentum={options.momentum} must lie in [0, 1)")
    if options.num_classes < _CIFAR10_CLASSES:
        raise ValueError(
            f"{name} num_classes={options.num_classes} is below the {_CIFAR10_CLASSES} classes of CIFAR-10"
        )
