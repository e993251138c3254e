"""EfficientNet-B0 of Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional Networks".

Layer by layer as `keras.applications.EfficientNetB0` without its preprocessing layers. Our choices: no drop
of whole blocks while training, padding even on both sides where Keras pads the far side of a stride of 2
alone, moving statistics that keep 0.9 of the old. The stages are the paper's table 1.
"""

from workloads.families.blocks import NORM, plain_conv
from workloads.families.classifier import CHANNELS, scaled
from workloads.families.inverted_residual import Stage, Style, inverted_residuals
from workloads.layers import Activation, Dense, Dropout, GlobalAveragePool
from workloads.network import Draft, Network

SMALLEST = 32
"""Image size in pixels, as Keras asks for."""

_SWISH = Activation(kind="swish")
_STAGES = (
    Stage(expansion=1, filters=16, blocks=1, stride=1),
    Stage(expansion=6, filters=24, blocks=2, stride=2),
    Stage(expansion=6, filters=40, blocks=2, stride=2, kernel=5),
    Stage(expansion=6, filters=80, blocks=3, stride=2),
    Stage(expansion=6, filters=112, blocks=3, stride=1, kernel=5),
    Stage(expansion=6, filters=192, blocks=4, stride=2, kernel=5),
    Stage(expansion=6, filters=320, blocks=1, stride=1),
)
_FIRST_FILTERS, _LAST_FILTERS = 32, 1280
_DROPOUT = 0.2


def efficientnet_b0(image_size: int, num_classes: int, *, width: float) -> Network:
    """Images -> logits."""
    draft = Draft(input_shape=(image_size, image_size, CHANNELS))
    channels = scaled(_FIRST_FILTERS, width)
    node = draft.chain(plain_conv(channels, 3, stride=2), NORM, _SWISH)
    style = Style(activation=_SWISH, width=width, squeezed=0.25)
    node = inverted_residuals(draft, node, _STAGES, channels=channels, style=style)
    draft.chain(plain_conv(scaled(_LAST_FILTERS, width), 1), NORM, _SWISH, start=node)
    draft.chain(GlobalAveragePool(), Dropout(rate=_DROPOUT), Dense(units=num_classes))
    return draft.done()
