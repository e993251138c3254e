"""Inception-ResNet-v2 on CIFAR-10's images.

After Szegedy et al. 2017, "Inception-v4, Inception-ResNet and the Impact of Residual Connections on
Learning". PROFET (Lee, Hur, Park, Lee 2022) trains `keras.applications.InceptionResNetV2`, and this is it
layer by layer: its stem is Inception-v3's, and residuals are scaled by 0.17, 0.1 and 0.2. Our choices: moving
statistics keep 0.9 of the old instead of 0.99, and CIFAR-10 where PROFET has random images. The paper does
not give its epochs; they are taken to be those of Inception-v3, which has the same learning rate and decay.
"""

from workloads.families.blocks import RELU, pooled_logits
from workloads.families.classifier import CHANNELS, LARGE_IMAGENET, LargeImageOptions, image_classifier
from workloads.families.inception import (
    EPOCHS,
    KEEPING_POOL,
    SHRINKING_POOL,
    SMALLEST,
    Branch,
    Convolutions,
    mixed,
    stem,
)
from workloads.layers import Add, Conv2d
from workloads.network import Draft, Network
from workloads.spec import WorkloadSpec

VERSION = 1
Options = LargeImageOptions
PUBLISHED = LARGE_IMAGENET

Branches = tuple[Branch, ...]


def make(options: LargeImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    return image_classifier(
        "inception_resnet_v2", options, _network(options), version=VERSION, smallest=SMALLEST, epochs=EPOCHS
    )


def _network(options: LargeImageOptions) -> Network:
    """Images -> logits."""
    draft = Draft(input_shape=(options.image_size, options.image_size, CHANNELS))
    conv = Convolutions(options.width)
    node = mixed(draft, draft.chain(*stem(conv)), _mixed_5b(conv))
    channels = _joined(_mixed_5b(conv))
    for _ in range(10):
        node = _residual(draft, node, _block35(conv), channels=channels, scale=0.17)
    node = mixed(draft, node, (*_reduction_a(conv), (SHRINKING_POOL,)))
    channels += _joined(_reduction_a(conv))
    for _ in range(20):
        node = _residual(draft, node, _block17(conv), channels=channels, scale=0.1)
    node = mixed(draft, node, (*_reduction_b(conv), (SHRINKING_POOL,)))
    channels += _joined(_reduction_b(conv))
    for _ in range(9):
        node = _residual(draft, node, _block8(conv), channels=channels, scale=0.2)
    node = _residual(draft, node, _block8(conv), channels=channels, scale=1.0, activated=False)
    draft.chain(*conv(1536, 1), *pooled_logits(options.num_classes), start=node)
    return draft.done()


def _residual(
    draft: Draft, start: int, branches: Branches, *, channels: int, scale: float, activated: bool = True
) -> int:
    """Append a block: the index of its end. Its branches, joined, are brought back to so many `channels`."""
    joined = mixed(draft, start, branches)
    end = draft.add(Add(scale=scale), start, draft.add(Conv2d(filters=channels, kernel=1), joined))
    return draft.add(RELU, end) if activated else end


def _joined(branches: Branches) -> int:
    """Channels of branches that each end in a convolution."""
    return sum([layer.filters for layer in branch if isinstance(layer, Conv2d)][-1] for branch in branches)


def _mixed_5b(conv: Convolutions) -> Branches:
    return (
        conv(96, 1),
        (*conv(48, 1), *conv(64, 5)),
        (*conv(64, 1), *conv(96, 3), *conv(96, 3)),
        (KEEPING_POOL, *conv(64, 1)),
    )


def _block35(conv: Convolutions) -> Branches:
    """Figure 16 of the paper."""
    return (
        conv(32, 1),
        (*conv(32, 1), *conv(32, 3)),
        (*conv(32, 1), *conv(48, 3), *conv(64, 3)),
    )


def _reduction_a(conv: Convolutions) -> Branches:
    """Figure 7, without its pooling: height and width are halved."""
    return (
        conv.valid(384, 3, stride=2),
        (*conv(256, 1), *conv(256, 3), *conv.valid(384, 3, stride=2)),
    )


def _block17(conv: Convolutions) -> Branches:
    """Figure 17."""
    return conv(192, 1), (*conv(128, 1), *conv(160, (1, 7)), *conv(192, (7, 1)))


def _reduction_b(conv: Convolutions) -> Branches:
    """Figure 18, without its pooling."""
    return (
        (*conv(256, 1), *conv.valid(384, 3, stride=2)),
        (*conv(256, 1), *conv.valid(288, 3, stride=2)),
        (*conv(256, 1), *conv(288, 3), *conv.valid(320, 3, stride=2)),
    )


def _block8(conv: Convolutions) -> Branches:
    """Figure 19."""
    return conv(192, 1), (*conv(192, 1), *conv(224, (1, 3)), *conv(256, (3, 1)))
