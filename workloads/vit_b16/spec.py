"""Vision Transformer, which classifies an image by its patches.

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", table 1 for `b16` and `l16`; `s16` is that of
Touvron et al. 2021, "Training data-efficient image transformers", table 1. Class token and positions are
learned, normalisation comes first, and logits come from the class token. On ImageNet it trains for 300
epochs with a rate of 3e-3 (table 3), and AdamW's 0.9 and 0.999; here images are CIFAR-10's, resized. `tiny`
is ours, for a CPU: patches of 4 pixels.
"""

from dataclasses import dataclass, replace

from workloads.data.need import DataNeed
from workloads.families.classifier import CHANNELS, count_samples_of_published_set, require_size
from workloads.families.transformer import Block, Size, TransformerOptions, adamw, choose_size, dropped
from workloads.layers import Conv2d, Dense
from workloads.network import Draft, Network
from workloads.sequence_layers import ClassToken, FirstStep, LayerNorm, PositionEmbedding, ToSequence
from workloads.shapes import UnsuitableInputError
from workloads.spec import Quality, WorkloadSpec, classifier

VERSION = 1
PUBLISHED = {"size": "b16", "num_classes": 1000}

_EPOCHS = 300
_BETA_2 = 0.999
_EPSILON = 1e-6
_CIFAR10_CLASSES = 10

_BASE = Size(layers=12, heads=12, units=768, hidden=3072, length=224, patch=16, learning_rate=3e-3)
SIZES = {
    "tiny": Size(layers=2, heads=2, units=64, hidden=256, length=32, patch=4, learning_rate=3e-3),
    "s16": replace(_BASE, heads=6, units=384, hidden=1536),
    "b16": _BASE,
    "l16": replace(_BASE, layers=24, heads=16, units=1024, hidden=4096),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(TransformerOptions):
    """Knobs.

    Attributes:
        image_size: side in pixels to which the images are resized; 0: that of the size.
        num_classes: number of logits. CIFAR-10 has 10 classes; more logits cost what they would with more.
    """

    image_size: int = 0
    num_classes: int = _CIFAR10_CLASSES


def make(options: Options) -> WorkloadSpec:
    """Spell the task out."""
    size = choose_size("vit_b16", options, SIZES)
    image_size = options.image_size or size.length
    _check(options, image_size, patch=size.patch)
    return classifier(
        "vit_b16",
        _network(size, image_size, options=options),
        version=VERSION,
        optimizer=adamw(options, size, beta_2=_BETA_2),
        data=DataNeed(data_set="workloads.data.cifar10:CIFAR10", image_size=image_size),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.6),
        epochs=_EPOCHS if options.num_classes in (_CIFAR10_CLASSES, PUBLISHED["num_classes"]) else None,
        train_samples=count_samples_of_published_set(options.num_classes),
    )


def _check(options: Options, image_size: int, *, patch: int) -> None:
    require_size("vit_b16", image_size, smallest=patch)
    if image_size % patch:
        raise UnsuitableInputError(
            f"vit_b16 image_size={image_size} must be a multiple of size={options.size}'s patches of {patch}"
        )
    if options.num_classes < _CIFAR10_CLASSES:
        raise ValueError(
            f"vit_b16 num_classes={options.num_classes} is below the {_CIFAR10_CLASSES} classes of CIFAR-10"
        )


def _network(size: Size, image_size: int, *, options: Options) -> Network:
    """Images -> logits."""
    draft = Draft(input_shape=(image_size, image_size, CHANNELS))
    draft.chain(
        Conv2d(filters=size.units, kernel=size.patch, stride=size.patch, initializer="glorot"),
        ToSequence(),
        ClassToken(),
        PositionEmbedding(),
        *dropped(options.dropout),
    )
    block = Block(
        size=size, activation="gelu", initializer="glorot", epsilon=_EPSILON, dropout=options.dropout
    )
    for _ in range(size.layers):
        block.before(draft)
    draft.chain(LayerNorm(epsilon=_EPSILON), FirstStep(), Dense(units=options.num_classes))
    return draft.done()
