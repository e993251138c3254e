"""Inception-v3 (Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision").

Layer by layer as `keras.applications.InceptionV3`, which PROFET (Lee, Hur, Park, Lee 2022) trains:
convolutions without bias, batch normalisation without scale, no auxiliary classifier and no dropout. Our
choice: moving statistics keep 0.9 of the old, where Keras keeps 0.99.
"""

from collections.abc import Sequence

from workloads.families.blocks import NORM_WITHOUT_SCALE, RELU, pooled_logits, same
from workloads.families.classifier import CHANNELS, scaled
from workloads.layers import AvgPool2d, Concatenate, Conv2d, Layer, MaxPool2d, Pair
from workloads.network import Draft, Network

SMALLEST = 75
"""Image size in pixels, as Keras asks for."""

EPOCHS = 100
"""Epochs of the training on ImageNet (section 8 of the paper)."""

Branch = tuple[Layer, ...]

SHRINKING_POOL = MaxPool2d(size=3, stride=2)
KEEPING_POOL = AvgPool2d(size=3, same=True)


class Convolutions:
    """Convolutions of an inception network, each normalised and activated, with filters scaled by `width`."""

    def __init__(self, width: float) -> None:
        self.width = width

    def __call__(self, filters: int, kernel: int | Pair) -> Branch:
        """One that keeps height and width."""
        return self._normalised(filters, kernel, stride=1, padding=same(kernel))

    def valid(self, filters: int, kernel: int, *, stride: int = 1) -> Branch:
        """One without padding."""
        return self._normalised(filters, kernel, stride=stride, padding=0)

    def _normalised(self, filters: int, kernel: int | Pair, *, stride: int, padding: int | Pair) -> Branch:
        convolution = Conv2d(
            filters=scaled(filters, self.width), kernel=kernel, stride=stride, padding=padding, bias=False
        )
        return convolution, NORM_WITHOUT_SCALE, RELU


def stem(conv: Convolutions) -> Branch:
    """The start that both inception networks share: images -> 192 maps of about an eighth of their side."""
    return (
        *conv.valid(32, 3, stride=2),
        *conv.valid(32, 3),
        *conv(64, 3),
        SHRINKING_POOL,
        *conv(80, 1),
        *conv.valid(192, 3),
        SHRINKING_POOL,
    )


def mixed(draft: Draft, start: int, branches: Sequence[Branch]) -> int:
    """Append parallel branches; return the index of the node that joins them."""
    return draft.add(Concatenate(), *(draft.chain(*branch, start=start) for branch in branches))


def inception_v3(image_size: int, num_classes: int, *, width: float) -> Network:
    """Images -> logits."""
    draft, conv = Draft(input_shape=(image_size, image_size, CHANNELS)), Convolutions(width)
    node = draft.chain(*stem(conv))
    for pooled in (32, 64, 64):
        node = mixed(draft, node, _module_a(conv, pooled))
    node = mixed(draft, node, _reduction_a(conv))
    for inner in (128, 160, 160, 192):
        node = mixed(draft, node, _module_b(conv, inner))
    node = mixed(draft, node, _reduction_b(conv))
    for _ in range(2):
        node = _module_c(draft, node, conv)
    draft.chain(*pooled_logits(num_classes))
    return draft.done()


def _module_a(conv: Convolutions, pooled: int) -> tuple[Branch, ...]:
    """Figure 5 of the paper: a 5x5 and two 3x3 side by side."""
    return (
        conv(64, 1),
        (*conv(48, 1), *conv(64, 5)),
        (*conv(64, 1), *conv(96, 3), *conv(96, 3)),
        (KEEPING_POOL, *conv(pooled, 1)),
    )


def _reduction_a(conv: Convolutions) -> tuple[Branch, ...]:
    """Figure 10: height and width are halved."""
    return (
        conv.valid(384, 3, stride=2),
        (*conv(64, 1), *conv(96, 3), *conv.valid(96, 3, stride=2)),
        (SHRINKING_POOL,),
    )


def _module_b(conv: Convolutions, inner: int) -> tuple[Branch, ...]:
    """Figure 6: 7x7 convolutions as rows and columns."""
    row, column = (1, 7), (7, 1)
    return (
        conv(192, 1),
        (*conv(inner, 1), *conv(inner, row), *conv(192, column)),
        (*conv(inner, 1), *conv(inner, column), *conv(inner, row), *conv(inner, column), *conv(192, row)),
        (KEEPING_POOL, *conv(192, 1)),
    )


def _reduction_b(conv: Convolutions) -> tuple[Branch, ...]:
    """Halve height and width again."""
    return (
        (*conv(192, 1), *conv.valid(320, 3, stride=2)),
        (*conv(192, 1), *conv(192, (1, 7)), *conv(192, (7, 1)), *conv.valid(192, 3, stride=2)),
        (SHRINKING_POOL,),
    )


def _module_c(draft: Draft, start: int, conv: Convolutions) -> int:
    """Figure 7: branches that part once more, into a row and a column."""
    row, column = conv(384, (1, 3)), conv(384, (3, 1))
    plain = draft.chain(*conv(320, 1), start=start)
    parted = [
        mixed(draft, draft.chain(*before, start=start), (row, column))
        for before in (conv(384, 1), (*conv(448, 1), *conv(384, 3)))
    ]
    pooled = draft.chain(KEEPING_POOL, *conv(192, 1), start=start)
    return draft.add(Concatenate(), plain, *parted, pooled)
