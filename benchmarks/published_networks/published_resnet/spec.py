"""Residual networks whose training rates on TPUs are published.

`v1.5` is He et al. 2016 with the stride in a bottleneck's 3x3 convolution: the reference of MLPerf and of
torchvision. `rs` is ResNet-RS (Bello et al. 2021, "Revisiting ResNets", section 6): the stem of ResNet-D with
a convolution instead of its pooling, pooled shortcuts, and squeeze and excitation of a quarter.
Left out: label smoothing, weight decay, drop of whole blocks and the average of weights, which cost little.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.families.blocks import NORM, RELU, plain_conv, pooled_logits
from workloads.families.classifier import CHANNELS
from workloads.layers import (
    Activation,
    Add,
    AvgPool2d,
    Dense,
    Dropout,
    GlobalAveragePool,
    MaxPool2d,
    Multiply,
)
from workloads.network import Draft, Network
from workloads.spec import Quality, Sgd, WorkloadSpec, classifier

VERSION = 1
_FILTERS = (64, 128, 256, 512)
_EXPANSION = 4
_DROPOUT = 0.25
_BLOCKS: Mapping[tuple[str, int], tuple[int, ...]] = {
    ("v1.5", 50): (3, 4, 6, 3),
    ("rs", 50): (3, 4, 6, 3),
    ("rs", 101): (3, 4, 23, 3),
    ("rs", 152): (3, 8, 36, 3),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Knobs of a network of the table.

    Attributes:
        variant: `v1.5` or `rs`.
        image_size: side in pixels.
    """

    variant: str = "v1.5"
    depth: int = 50
    image_size: int = 224

    def __post_init__(self) -> None:
        if (self.variant, self.depth) not in _BLOCKS:
            known = ", ".join(f"{variant} {depth}" for variant, depth in _BLOCKS)
            raise ValueError(f"published_resnet: no {self.variant} of depth {self.depth}; known: {known}")


def make(options: Options) -> WorkloadSpec:
    """Spell the task out, for images of CIFAR-10 and 1,000 logits."""
    return classifier(
        "published_resnet",
        network(options),
        version=VERSION,
        optimizer=Sgd(learning_rate=0.1, momentum=0.9),
        data=DataNeed(data_set="workloads.data.cifar10:CIFAR10", image_size=options.image_size),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.7),
        epochs=90,
    )


def network(options: Options) -> Network:
    """Images -> 1,000 logits."""
    is_rs = options.variant == "rs"
    draft = Draft(input_shape=(options.image_size, options.image_size, CHANNELS))
    node = _rs_stem(draft) if is_rs else _stem(draft)
    stages = zip(_FILTERS, _BLOCKS[options.variant, options.depth], strict=True)
    for stage, (filters, blocks) in enumerate(stages):
        for index in range(blocks):
            stride = 2 if stage and not index else 1
            node = _block(draft, node, filters, stride=stride, changes=not index, is_rs=is_rs)
    if is_rs:
        draft.chain(GlobalAveragePool(), Dropout(rate=_DROPOUT), Dense(units=1000))
    else:
        draft.chain(*pooled_logits(1000))
    return draft.done()


def _stem(draft: Draft) -> int:
    return draft.chain(plain_conv(64, 7, stride=2), NORM, RELU, MaxPool2d(size=3, stride=2, padding=1))


def _rs_stem(draft: Draft) -> int:
    steps = ((32, 2), (32, 1), (64, 1), (64, 2))
    return draft.chain(
        *(layer for filters, stride in steps for layer in (plain_conv(filters, 3, stride=stride), NORM, RELU))
    )


def _block(draft: Draft, start: int, filters: int, *, stride: int, changes: bool, is_rs: bool) -> int:
    """Append a bottleneck: the index of its output.

    Args:
        changes: its output has another shape than its input.
    """
    narrow = (plain_conv(filters, 1), NORM, RELU)
    middle = (plain_conv(filters, 3, stride=stride), NORM, RELU)
    residual = draft.chain(*narrow, *middle, plain_conv(_EXPANSION * filters, 1), NORM, start=start)
    if is_rs:
        residual = _excited(draft, residual, filters)
    if changes:
        start = _shortcut(draft, start, filters, stride=stride, is_rs=is_rs)
    return draft.chain(RELU, start=draft.add(Add(), start, residual))


def _shortcut(draft: Draft, start: int, filters: int, *, stride: int, is_rs: bool) -> int:
    if is_rs and stride > 1:
        start, stride = draft.add(AvgPool2d(size=stride), start), 1
    return draft.chain(plain_conv(_EXPANSION * filters, 1, stride=stride), NORM, start=start)


def _excited(draft: Draft, start: int, filters: int) -> int:
    """Append a factor for each of the 4 x filters channels, made of the means of all."""
    factors = draft.chain(
        GlobalAveragePool(),
        Dense(units=filters, initializer="he"),
        RELU,
        Dense(units=_EXPANSION * filters),
        Activation(kind="sigmoid"),
        start=start,
    )
    return draft.add(Multiply(), start, factors)
