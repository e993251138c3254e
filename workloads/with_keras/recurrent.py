"""Recurrent layers in Keras: its own cells, which call cuDNN on a GPU."""

from typing import Any

import keras
import tensorflow as tf

from workloads.layers import Recurrent, Shape


class BidirectionalCell(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """[batch, step, unit] -> [batch, 2 * unit], or every step of it: the forward direction's units first."""

    def __init__(self, layer: Recurrent, **common: Any) -> None:
        super().__init__(**common)
        kind = keras.layers.LSTM if layer.cell == "lstm" else keras.layers.GRU
        self._sequences = layer.sequences
        self._directions = {
            name: kind(
                layer.units,
                return_sequences=layer.sequences,
                go_backwards=name == "backward",
                name=name,
                dtype=self.dtype_policy,
            )
            for name in ("forward", "backward")
        }

    def build(self, shape: Shape) -> None:
        """Add the arrays."""
        for direction in self._directions.values():
            direction.build(shape)

    def variable(self, name: str) -> Any:
        """A variable by canonical name, as in `forward_recurrent_kernel`."""
        direction, _, own = name.partition("_")
        return getattr(self._directions[direction].cell, own)

    def call(self, sequence: Any) -> Any:
        """The last step of each direction, or all steps."""
        forwards, backwards = (direction(sequence) for direction in self._directions.values())
        return tf.concat((forwards, tf.reverse(backwards, [1]) if self._sequences else backwards), -1)

    def let_xla_compile(self) -> None:
        """Loop over the steps on a GPU too: XLA cannot compile cuDNN's operation."""
        for direction in self._directions.values():
            direction.use_cudnn = False

    def is_fused(self) -> bool:
        """Return whether one operation computes a sequence, read from the graph of a short one."""
        inputs = self.variable("forward_kernel").shape[0]
        short = tf.TensorSpec((1, 2, inputs), self.compute_dtype)
        graph = tf.function(self.call, autograph=False).get_concrete_function(short).graph
        return any(get_operation.type.startswith("CudnnRNN") for get_operation in graph.get_operations())


def fused_recurrent(model: Any) -> bool | None:
    """Return whether fused operations compute all recurrent cells of a model; None if it has none."""
    cells = [layer for layer in model.layers if isinstance(layer, BidirectionalCell)]
    return all(cell.is_fused() for cell in cells) if cells else None


def let_xla_compile(model: Any) -> None:
    """Make a model's recurrent cells such that `jit_compile` takes them on every device."""
    for layer in model.layers:
        if isinstance(layer, BidirectionalCell):
            layer.let_xla_compile()
