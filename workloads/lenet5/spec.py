"""LeNet-5 of LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition", for CIFAR-10.

As PROFET (Lee, Hur, Park, Lee 2022) builds it, which its published code shows: ReLU and max-pooling where
LeCun et al. have a sigmoid and trainable means, and each map of the second convolution sees all maps of the
first. Our choices: kernels from He's variance, and CIFAR-10 where PROFET has random images.
"""

from workloads.families.blocks import RELU, dense_relu
from workloads.families.classifier import CHANNELS, ImageOptions, image_classifier, scaled
from workloads.layers import Conv2d, Dense, MaxPool2d
from workloads.network import Network, sequential
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions

_EPOCHS = 20  # of MNIST: section III of the paper


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    return image_classifier(
        "lenet5", options, _network(options), version=VERSION, smallest=32, epochs=_EPOCHS, target=0.6
    )


def _network(options: ImageOptions) -> Network:
    """Images -> logits."""
    first, second, *hidden = (scaled(size, options.width) for size in (6, 16, 120, 84))
    return sequential(
        (options.image_size, options.image_size, CHANNELS),
        Conv2d(filters=first, kernel=5),
        RELU,
        MaxPool2d(size=2),
        Conv2d(filters=second, kernel=5),
        RELU,
        MaxPool2d(size=2),
        *dense_relu(*hidden),
        Dense(units=options.num_classes),
    )
