"""Recurrent layers in Keras."""

from typing import Any

import keras

from workloads.layers import Recurrent


class BidirectionalCell(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    def __init__(self, layer: Recurrent, **common: Any) -> None:
        super().__init__(**common)
