"""MobileNetV2 (Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", table 2).

PROFET (Lee, Hur, Park, Lee 2022) trains `keras.applications.MobileNetV2`, and this is it layer by layer.
Our choices: padding even on both sides where Keras pads the far side of a stride of 2 alone, moving
statistics that keep 0.9 of the old instead of 0.999, and CIFAR-10 where PROFET has random images. The paper
has a learning rate that falls by 2% an epoch, and no number of epochs; 300 are those of torchvision's
reference training at the paper's rates.
"""

from workloads.families.blocks import NORM, plain_conv, pooled_logits
from workloads.families.classifier import CHANNELS, IMAGENET, ImageOptions, image_classifier, scaled
from workloads.families.inverted_residual import Stage, Style, inverted_residuals
from workloads.layers import Activation
from workloads.network import Draft, Network
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions
PUBLISHED = IMAGENET

_RELU6 = Activation(kind="relu6")
_STAGES = (
    Stage(expansion=1, filters=16, blocks=1, stride=1),
    Stage(expansion=6, filters=24, blocks=2, stride=2),
    Stage(expansion=6, filters=32, blocks=3, stride=2),
    Stage(expansion=6, filters=64, blocks=4, stride=2),
    Stage(expansion=6, filters=96, blocks=3, stride=1),
    Stage(expansion=6, filters=160, blocks=3, stride=2),
    Stage(expansion=6, filters=320, blocks=1, stride=1),
)
_EPOCHS = 300
_FIRST_FILTERS, _LAST_FILTERS = 32, 1280


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    return image_classifier(
        "mobilenet_v2", options, _network(options), version=VERSION, smallest=32, epochs=_EPOCHS
    )


def _network(options: ImageOptions) -> Network:
    """Images -> logits."""
    draft = Draft(input_shape=(options.image_size, options.image_size, CHANNELS))
    channels = scaled(_FIRST_FILTERS, options.width)
    node = draft.chain(plain_conv(channels, 3, stride=2), NORM, _RELU6)
    style = Style(activation=_RELU6, width=options.width)
    node = inverted_residuals(draft, node, _STAGES, channels=channels, style=style)
    draft.chain(plain_conv(scaled(_LAST_FILTERS, options.width), 1), NORM, _RELU6, start=node)
    draft.chain(*pooled_logits(options.num_classes))
    return draft.done()
