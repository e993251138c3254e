"""Embedding in Keras with a gradient that every optimizer and compiler takes."""

from typing import Any

import keras
import tensorflow as tf

from workloads.layers import Embedding, Shape


class EmbeddingLayer(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """Rows of a table by token id.

    The gradient of Keras' own layer is `IndexedSlices`. An id that occurs twice then counts otherwise in its
    Adam (keras 3.15), and XLA cannot gather slices from several workers.
    """

    def __init__(self, layer: Embedding, **common: Any) -> None:
        super().__init__(**common)
        self._shape = (layer.vocabulary, layer.units)

    def build(self, _shape: Shape) -> None:
        """Add the table; it is looked up in float32."""
        self.kernel = self.add_weight(shape=self._shape, name="kernel", autocast=False)

    def call(self, ids: Any) -> Any:
        """[batch, step] -> [batch, step, unit]."""
        return tf.cast(_rows(tf.convert_to_tensor(self.kernel), ids), self.compute_dtype)


def _rows(table: Any, ids: Any) -> Any:
    num_rows, units = table.shape

    @tf.custom_gradient  # type: ignore[untyped-decorator]  # tensorflow has no types
    def looked_up(table: Any) -> Any:
        def gradient(derivative: Any) -> Any:
            rows = tf.reshape(derivative, (-1, units))
            return tf.math.unsorted_segment_sum(rows, tf.reshape(ids, (-1,)), num_rows)

        return tf.gather(table, ids), gradient

    return looked_up(table)
