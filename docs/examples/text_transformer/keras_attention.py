"""Self-attention in Keras; twin of `torch_attention.py`."""

import math
from typing import Any

import keras
from keras import ops


class SelfAttention(keras.layers.Layer):
    """x + attention(normalised x + position): [batch, step, unit] -> the same."""

    def __init__(self, *, length: int, units: int, heads: int, **common: Any) -> None:
        super().__init__(**common)  # name and dtype
        self.length, self.units, self.heads = length, units, heads

    def build(self, _shape: tuple[int, ...]) -> None:
        self.gamma = self.add_weight(name="gamma", shape=(self.units,))
        self.beta = self.add_weight(name="beta", shape=(self.units,))
        self.position = self.add_weight(name="position", shape=(self.length, self.units))
        square = (self.units, self.units)
        self.query_kernel = self.add_weight(name="query_kernel", shape=square)
        self.key_kernel = self.add_weight(name="key_kernel", shape=square)
        self.value_kernel = self.add_weight(name="value_kernel", shape=square)
        self.output_kernel = self.add_weight(name="output_kernel", shape=square)

    def call(self, x: Any) -> Any:
        mean = ops.mean(x, -1, keepdims=True)
        variance = ops.mean(ops.square(x - mean), -1, keepdims=True)
        normal = (x - mean) / ops.sqrt(variance + 1e-5) * self.gamma + self.beta + self.position
        query, key, value = (
            self.by_head(ops.matmul(normal, kernel))
            for kernel in (self.query_kernel, self.key_kernel, self.value_kernel)
        )
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / math.sqrt(self.units // self.heads)
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), value), (0, 2, 1, 3))
        mixed = ops.reshape(mixed, (-1, self.length, self.units))
        return x + ops.matmul(mixed, self.output_kernel)

    def by_head(self, x: Any) -> Any:
        """[batch, step, unit] -> [batch, head, step, unit / heads]."""
        split = ops.reshape(x, (-1, self.length, self.heads, self.units // self.heads))
        return ops.transpose(split, (0, 2, 1, 3))
