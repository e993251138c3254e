"""VGG (Simonyan and Zisserman 2015, "Very Deep Convolutional Networks for Large-Scale Image Recognition").

Configurations A, B, D and E of their table 1. As PROFET (Lee, Hur, Park, Lee 2022) builds them, which its
published code shows: 3x3 convolutions with ReLU in five blocks, each ended by 2x2 max-pooling, then 4096
and 4096 hidden units; neither batch normalisation nor dropout. Our choice: kernels start from He's
variance, where PROFET takes Glorot's, which deep networks without normalisation hardly learn from.
"""

from workloads.families.blocks import RELU, dense_relu
from workloads.families.classifier import CHANNELS, ImageOptions, scaled
from workloads.layers import Conv2d, Dense, Layer, MaxPool2d
from workloads.network import Network, sequential

SMALLEST = 32
"""Image size in pixels that five poolings leave a pixel of."""

EPOCHS = 74
"""Epochs of their training on ImageNet, 370,000 steps of 256 images (section 3.1 of the paper)."""

_FILTERS = (64, 128, 256, 512, 512)
_HIDDEN_UNITS = 4096


def vgg(options: ImageOptions, *, convolutions: tuple[int, ...]) -> Network:
    """Images -> logits.

    Args:
        convolutions: convolutions of each of the five blocks.
    """
    layers: list[Layer] = []
    for filters, repeats in zip(_FILTERS, convolutions, strict=True):
        layers += (Conv2d(filters=scaled(filters, options.width), kernel=3, padding=1), RELU) * repeats
        layers.append(MaxPool2d(size=2))
    hidden = scaled(_HIDDEN_UNITS, options.width)
    side = options.image_size
    return sequential(
        (side, side, CHANNELS), *layers, *dense_relu(hidden, hidden), Dense(units=options.num_classes)
    )
