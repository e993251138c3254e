"""Residual networks with pre-activation (He et al. 2016, "Identity Mappings in Deep Residual Networks").

As PROFET (Lee, Hur, Park, Lee 2022) builds them, which its published code shows: batch normalisation and
ReLU stand before each convolution but the first two; all convolutions have a bias; a shortcut between two
shapes is one 1x1 convolution of the block's input; a bottleneck's stride is that of its first 1x1
convolution. Our choices: no weight decay (PROFET: L2 1e-4), padding even on both sides, moving statistics
that keep 0.9.
"""

from workloads.families.blocks import NORM, RELU, pooled_logits, same
from workloads.families.classifier import CHANNELS, scaled
from workloads.layers import Add, Conv2d, MaxPool2d
from workloads.network import Draft, Network

SMALLEST = 32
"""Image size in pixels that five strides of 2 leave a pixel of."""

EPOCHS = 64_000 * 128 / 50_000
"""163.84: the 64,000 steps of 128 images that He et al. 2016, "Deep Residual Learning for Image Recognition",
section 4.2, train on CIFAR-10, and this paper as well."""

_FILTERS = (64, 128, 256, 512)
_EXPANSION = 4  # a bottleneck's output has so many times the filters of its 3x3 convolution

Convolutions = tuple[Conv2d, ...]
"""Convolutions of one block's residual branch."""


def resnet(
    image_size: int, num_classes: int, *, width: float, blocks: tuple[int, ...], bottleneck: bool = False
) -> Network:
    """Images -> logits.

    Args:
        blocks: blocks of each of the four stages.
        bottleneck: blocks of 1x1, 3x3 and 1x1 convolutions instead of two 3x3.
    """
    draft = Draft(input_shape=(image_size, image_size, CHANNELS))
    channels = scaled(_FILTERS[0], width)
    stem = Conv2d(filters=channels, kernel=7, stride=2, padding=3)
    node = draft.chain(stem, NORM, RELU, MaxPool2d(size=3, stride=2, padding=1))
    for stage, (filters, repeats) in enumerate(zip(_FILTERS, blocks, strict=True)):
        for index in range(repeats):
            stride = 2 if stage and not index else 1
            branch = (_bottleneck if bottleneck else _basic)(scaled(filters, width), stride)
            node = _residual(draft, node, branch, channels=channels, is_first=not stage and not index)
            channels = branch[-1].filters
    draft.chain(NORM, RELU, *pooled_logits(num_classes))
    return draft.done()


def resnet50(image_size: int, num_classes: int, *, width: float) -> Network:
    """Images -> logits."""
    return resnet(image_size, num_classes, width=width, blocks=(3, 4, 6, 3), bottleneck=True)


def _basic(filters: int, stride: int) -> Convolutions:
    return _conv(filters, 3, stride=stride), _conv(filters, 3)


def _bottleneck(filters: int, stride: int) -> Convolutions:
    return _conv(filters, 1, stride=stride), _conv(filters, 3), _conv(_EXPANSION * filters, 1)


def _conv(filters: int, kernel: int, *, stride: int = 1) -> Conv2d:
    return Conv2d(filters=filters, kernel=kernel, stride=stride, padding=same(kernel))


def _residual(draft: Draft, start: int, branch: Convolutions, *, channels: int, is_first: bool) -> int:
    """Append a block: the index of its sum.

    Args:
        channels: channels of the feature maps that `start` gives.
        is_first: it follows a layer that is normalised and activated, and does not repeat that.
    """
    layers = [layer for convolution in branch for layer in (NORM, RELU, convolution)]
    residual = draft.chain(*(layers[2:] if is_first else layers), start=start)
    filters, stride = branch[-1].filters, branch[0].stride
    if stride > 1 or filters != channels:
        start = draft.add(Conv2d(filters=filters, kernel=1, stride=stride), start)
    return draft.add(Add(), start, residual)
