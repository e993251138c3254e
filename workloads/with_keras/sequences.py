"""Layers of transformers in Keras on TensorFlow, over [batch, step, unit]."""

from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from workloads.layers import Shape
from workloads.rotary import rotary_angles
from workloads.sequence_layers import Attention, RmsNorm, TiedDense


class RmsNormLayer(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """Division of every step by the root of its mean square, in float32, with gamma."""

    def __init__(self, layer: RmsNorm, **common: Any) -> None:
        super().__init__(**common)
        self._epsilon = layer.epsilon

    def build(self, shape: Shape) -> None:
        """Add gamma."""
        self.gamma = self.add_weight(shape=(shape[-1],), name="gamma", autocast=False)

    def call(self, sequence: Any) -> Any:
        """[…, unit] -> the same."""
        precise = tf.cast(sequence, self.gamma.dtype)
        square = tf.reduce_mean(tf.square(precise), -1, keepdims=True)
        return tf.cast(precise * tf.math.rsqrt(square + self._epsilon) * self.gamma, self.compute_dtype)


class PositionTable(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """A learned vector for every place of a sequence."""

    def build(self, shape: Shape) -> None:
        """Add the table."""
        self.kernel = self.add_weight(shape=shape[1:], name="kernel")

    def call(self, sequence: Any) -> Any:
        """[batch, step, unit] -> the same."""
        return sequence + self.kernel


class ClassTokenLayer(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """A learned vector before every sequence."""

    def build(self, shape: Shape) -> None:
        """Add the vector."""
        self.token = self.add_weight(shape=(shape[-1],), name="token")

    def call(self, sequence: Any) -> Any:
        """[batch, step, unit] -> [batch, step + 1, unit]."""
        tokens = tf.zeros_like(sequence[:, :1]) + self.token
        return tf.concat((tokens, sequence), 1)


class AttentionLayer(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """Attention by Keras' `dot_product_attention`, which TensorFlow computes without a fused kernel."""

    def __init__(self, layer: Attention, **common: Any) -> None:
        super().__init__(**common)
        self._layer = layer

    def call(self, first: Any, *others: Any) -> Any:
        """Queries, keys and values, as three inputs or one -> [batch, step, query unit]."""
        layer, steps = self._layer, first.shape[1]
        parts = (first, *others) if others else tf.split(first, layer.widths, -1)
        counts = (layer.heads, layer.key_heads, layer.key_heads)
        query, key, value = (
            tf.reshape(part, (-1, steps, count, layer.head_units))
            for part, count in zip(parts, counts, strict=True)
        )
        query, key = self._turned(query), self._turned(key)
        if layer.key_heads < layer.heads:
            shared = layer.heads // layer.key_heads
            key, value = (tf.repeat(part, shared, axis=2) for part in (key, value))
        attended = ops.dot_product_attention(query, key, value, is_causal=layer.causal)
        return tf.reshape(attended, (-1, steps, layer.widths[0]))

    def _turned(self, heads: Any) -> Any:
        """[batch, step, head, unit] -> the same, turned by the angles of every step."""
        if self._layer.rotary_base is None:
            return heads
        angles = rotary_angles(self._layer, heads.shape[1])[:, None]
        dtype = tf.float64 if heads.dtype == tf.float64 else tf.float32
        cosines, sines = (tf.constant(turn(angles), dtype) for turn in (np.cos, np.sin))
        low, high = tf.split(tf.cast(heads, dtype), 2, -1)
        turned = tf.concat((low * cosines - high * sines, high * cosines + low * sines), -1)
        return tf.cast(turned, heads.dtype)


class TiedLogits(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """Product with the table of an embedding layer, which alone owns it."""

    def __init__(self, layer: TiedDense, embedding: Any, **common: Any) -> None:
        super().__init__(**common)
        self._layer = layer
        self._table = partial(getattr, embedding, "kernel")  # Keras would take a layer here for a part

    def build(self, _shape: Shape) -> None:
        """Add the bias."""
        self.bias = (
            self.add_weight(shape=(self._layer.units,), name="bias", initializer="zeros")
            if self._layer.bias
            else None
        )

    def call(self, sequence: Any) -> Any:
        """[…, unit] -> […, vocabulary]."""
        table = tf.cast(tf.convert_to_tensor(self._table()), sequence.dtype)
        logits = tf.matmul(sequence, table, transpose_b=True)
        return logits if self.bias is None else logits + self.bias
