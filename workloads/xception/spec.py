"""Xception (Chollet 2017, "Xception: Deep Learning with Depthwise Separable Convolutions", figure 5).

PROFET (Lee, Hur, Park, Lee 2022) has `keras.applications.Xception` in its code, though not in its published
data, and this is it layer by layer. Our choices: padding even on both sides where Keras pads the far side
of a stride of 2 alone, moving statistics that keep 0.9 of the old instead of 0.99, and CIFAR-10 where
PROFET has random images. The paper does not give its epochs; they are taken to be those of Inception-v3,
which it is compared with under the same schedule.
"""

from workloads.families.blocks import NORM, RELU, plain_conv, pooled_logits
from workloads.families.classifier import (
    CHANNELS,
    LARGE_IMAGENET,
    LargeImageOptions,
    image_classifier,
    scaled,
)
from workloads.families.inception import EPOCHS
from workloads.layers import Add, Conv2d, DepthwiseConv2d, Layer, MaxPool2d
from workloads.network import Draft, Network
from workloads.spec import WorkloadSpec

VERSION = 1
Options = LargeImageOptions
PUBLISHED = LARGE_IMAGENET

_SMALLEST = 71  # pixels, as Keras asks for
_MIDDLE_BLOCKS, _MIDDLE_FILTERS = 8, 728


def make(options: LargeImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    return image_classifier(
        "xception", options, _network(options), version=VERSION, smallest=_SMALLEST, epochs=EPOCHS
    )


def _network(options: LargeImageOptions) -> Network:
    """Images -> logits."""
    draft = Draft(input_shape=(options.image_size, options.image_size, CHANNELS))

    def separable(filters: int) -> tuple[Layer, ...]:
        depthwise = DepthwiseConv2d(kernel=3, padding=1, bias=False)
        return depthwise, plain_conv(scaled(filters, options.width), 1), NORM

    def shrinking(start: int, *filters: int, first: tuple[Layer, ...] = (RELU,)) -> int:
        """Two separable convolutions and pooling, beside a 1x1 convolution of stride 2."""
        shortcut = draft.chain(plain_conv(scaled(filters[-1], options.width), 1, stride=2), NORM, start=start)
        layers = (*first, *separable(filters[0]), RELU, *separable(filters[1]))
        end = draft.chain(*layers, MaxPool2d(size=3, stride=2, padding=1), start=start)
        return draft.add(Add(), shortcut, end)

    def middle(start: int) -> int:
        end = draft.chain(*(RELU, *separable(_MIDDLE_FILTERS)) * 3, start=start)
        return draft.add(Add(), start, end)

    node = draft.chain(*_entry(options.width))
    node = shrinking(node, 128, 128, first=())  # the entry has activated already
    node = shrinking(node, 256, 256)
    node = shrinking(node, _MIDDLE_FILTERS, _MIDDLE_FILTERS)
    for _ in range(_MIDDLE_BLOCKS):
        node = middle(node)
    node = shrinking(node, _MIDDLE_FILTERS, 1024)
    draft.chain(
        *separable(1536), RELU, *separable(2048), RELU, *pooled_logits(options.num_classes), start=node
    )
    return draft.done()


def _entry(width: float) -> tuple[Layer, ...]:
    """Two 3x3 convolutions without padding."""
    first = Conv2d(filters=scaled(32, width), kernel=3, stride=2, bias=False)
    second = Conv2d(filters=scaled(64, width), kernel=3, bias=False)
    return first, NORM, RELU, second, NORM, RELU
