"""A network like AlexNet on CIFAR-10's images.

After Krizhevsky, Sutskever, Hinton 2012, "ImageNet Classification with Deep Convolutional Neural Networks",
as PROFET (Lee, Hur, Park, Lee 2022) builds it, which its published code shows: 96, 256, 512, 1024 and 1024
filters at stride 1, batch normalisation after every layer, 3072 and 4096 hidden units with dropout, and
borders of two zeros that let the last three convolutions grow their feature maps. Our choices: the logits
are not normalised as PROFET's are, moving statistics keep 0.9 of the old, and CIFAR-10 where PROFET has
random images.
"""

from workloads.families.blocks import NORM, RELU
from workloads.families.classifier import CHANNELS, IMAGENET, ImageOptions, image_classifier, scaled
from workloads.layers import Conv2d, Dense, Dropout, Flatten, Layer, MaxPool2d
from workloads.network import Network, sequential
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions
PUBLISHED = IMAGENET

_EPOCHS = 90  # roughly, of ImageNet: section 5 of the paper
_CONVOLUTIONS = (  # filters, kernel, padding, whether pooling follows
    (96, 11, 5, True),
    (256, 5, 2, True),
    (512, 3, 2, True),
    (1024, 3, 2, False),
    (1024, 3, 2, True),
)
_HIDDEN_UNITS = (3072, 4096)


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    return image_classifier(
        "alexnet", options, _network(options), version=VERSION, smallest=32, epochs=_EPOCHS
    )


def _network(options: ImageOptions) -> Network:
    """Images -> logits."""
    layers: list[Layer] = []
    for filters, kernel, padding, pooled in _CONVOLUTIONS:
        layers += (Conv2d(filters=scaled(filters, options.width), kernel=kernel, padding=padding), NORM, RELU)
        layers += (MaxPool2d(size=2),) * pooled
    layers.append(Flatten())
    for units in _HIDDEN_UNITS:
        layers += (Dense(units=scaled(units, options.width), initializer="he"), NORM, RELU, Dropout(rate=0.5))
    side = options.image_size
    return sequential((side, side, CHANNELS), *layers, Dense(units=options.num_classes))
