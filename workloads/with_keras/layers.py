"""Each layer in Keras on TensorFlow: what it makes of its inputs, and the arrays that it keeps."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

import keras
import tensorflow as tf

from workloads.layers import (
    Activation,
    Add,
    AvgPool2d,
    BatchNorm,
    Concatenate,
    Conv2d,
    ConvTranspose2d,
    Custom,
    Dense,
    DepthwiseConv2d,
    Dropout,
    Embedding,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool2d,
    Multiply,
    Rbm,
    Recurrent,
    Reshape,
    Shape,
    pair,
)
from workloads.sequence_layers import (
    Attention,
    ClassToken,
    FirstStep,
    Float32,
    LayerNorm,
    PositionEmbedding,
    Product,
    RmsNorm,
    ToSequence,
)
from workloads.with_keras.embedding import EmbeddingLayer
from workloads.with_keras.recurrent import BidirectionalCell
from workloads.with_keras.sequences import AttentionLayer, ClassTokenLayer, PositionTable, RmsNormLayer

Apply = Callable[..., Any]


def make_keras_layer(layer: Layer, *, name: str, dtype: str | None) -> Any:
    """Make the Keras layer that holds a layer's arrays.

    Args:
        dtype: a precision of its own; None is the global policy's.
    """
    common = {"name": name, "dtype": dtype}
    match layer:
        case Conv2d():
            return keras.layers.Conv2D(
                layer.filters, layer.kernel, strides=layer.stride, use_bias=layer.bias, **common
            )
        case DepthwiseConv2d():
            return keras.layers.DepthwiseConv2D(
                layer.kernel, strides=layer.stride, use_bias=layer.bias, **common
            )
        case ConvTranspose2d():
            return keras.layers.Conv2DTranspose(
                layer.filters,
                layer.kernel,
                strides=layer.stride,
                padding="same",
                use_bias=layer.bias,
                **common,
            )
        case Dense():
            return keras.layers.Dense(layer.units, use_bias=layer.bias, **common)
        case BatchNorm():
            return keras.layers.BatchNormalization(
                momentum=layer.momentum,
                epsilon=layer.epsilon,
                scale=layer.scale,
                synchronized=True,
                **common,
            )
        case Embedding():
            return EmbeddingLayer(layer, **common)
        case Recurrent():
            return BidirectionalCell(layer, **common)
        case Rbm():
            return RbmLayer(layer.units, **common)
        case LayerNorm():
            return keras.layers.LayerNormalization(epsilon=layer.epsilon, **common)
        case RmsNorm():
            return RmsNormLayer(layer, **common)
        case PositionEmbedding():
            return PositionTable(**common)
        case ClassToken():
            return ClassTokenLayer(**common)
        case Attention():
            return AttentionLayer(layer, **common)
        case Custom():
            return resolve_name(layer.keras)(**dict(layer.arguments), **common)
        case _:
            return _without_weights(layer, common)


def require_declared(layer: Layer, made: Any) -> None:
    """Raises ValueError unless the weights of someone's own layer are those that it declares."""
    shapes = {weight.name: tuple(weight.shape) for weight in made.weights}
    if isinstance(layer, Custom) and shapes != dict(layer.parameters):
        raise ValueError(f"layer {layer.keras!r} has weights {shapes}, expected {dict(layer.parameters)}")


def compute_padding(layer: Layer) -> tuple[int, int] | None:
    """Zeros that stand on both sides of (height, width) before the layer: Keras' own "same" is uneven."""
    if isinstance(layer, (Conv2d, DepthwiseConv2d)) and layer.padding:
        return pair(layer.padding)
    return None


@keras.saving.register_keras_serializable("orchestrator")
class RbmLayer(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """Probabilities of hidden units; `visible_bias` waits for contrastive divergence."""

    def __init__(self, units: int, **common: Any) -> None:
        super().__init__(**common)
        self._units = units

    def build(self, shape: Shape) -> None:
        """Add the arrays."""
        self.kernel = self.add_weight(shape=(shape[-1], self._units), name="kernel")
        self.bias = self.add_weight(shape=(self._units,), name="bias")
        self.visible_bias = self.add_weight(shape=(shape[-1],), name="visible_bias")

    def call(self, visible: Any) -> Any:
        """[batch, input] -> [batch, unit]."""
        return tf.sigmoid(tf.matmul(visible, self.kernel) + self.bias)


class _Lambda(keras.layers.Layer):  # type: ignore[misc]  # keras has no types
    """A function of the inputs, without weights."""

    def __init__(self, function: Apply, **common: Any) -> None:
        super().__init__(**common)
        self._function = function

    def call(self, *inputs: Any) -> Any:
        """Apply it."""
        return self._function(*inputs)


def _without_weights(layer: Layer, common: Mapping[str, Any]) -> Any:
    match layer:
        case Activation():
            return _Lambda(_choose_function(layer), **common)
        case MaxPool2d():
            return _max_pool(layer, common)
        case AvgPool2d():
            strides, padding = (1, "same") if layer.same else (None, "valid")
            return keras.layers.AveragePooling2D(layer.size, strides=strides, padding=padding, **common)
        case GlobalAveragePool():
            return _Lambda(
                lambda value: tf.reduce_mean(value, list(range(1, value.shape.rank - 1))), **common
            )
        case Flatten():
            return keras.layers.Flatten(**common)
        case Reshape():
            return keras.layers.Reshape(layer.shape, **common)
        case Dropout():
            return keras.layers.Dropout(layer.rate, **common)
        case Add():
            return _Lambda(lambda left, right: left + tf.cast(layer.scale, right.dtype) * right, **common)
        case Multiply():
            return _Lambda(lambda features, factors: features * factors[:, None, None, :], **common)
        case Concatenate():
            return _Lambda(lambda *features: tf.concat(features, -1), **common)
        case Product():
            return _Lambda(lambda left, right: left * right, **common)
        case FirstStep():
            return _Lambda(lambda sequence: sequence[:, 0], **common)
        case ToSequence():
            return _Lambda(_to_sequence, **common)
        case Float32():
            return _Lambda(lambda value: value, **common)
        case _:
            raise ValueError(f"{layer} has no layer in Keras")


def _to_sequence(features: Any) -> Any:
    _, height, width, channels = features.shape
    return tf.reshape(features, (-1, height * width, channels))


def _max_pool(layer: MaxPool2d, common: Mapping[str, Any]) -> Any:
    """Keras' own has no padding but its uneven "same"."""
    if not layer.padding:
        return keras.layers.MaxPool2D(layer.size, strides=layer.stride, **common)
    side = (layer.padding, layer.padding)
    edges, stride = ((0, 0), side, side, (0, 0)), layer.stride or layer.size

    def pooled(features: Any) -> Any:
        padded = tf.pad(features, edges, constant_values=features.dtype.min)
        return tf.nn.max_pool2d(padded, layer.size, stride, "VALID")

    return _Lambda(pooled, **common)


def _choose_function(layer: Activation) -> Apply:
    functions: Mapping[str, Apply] = {
        "relu": tf.nn.relu,
        "relu6": tf.nn.relu6,
        "leaky_relu": lambda value: tf.nn.leaky_relu(value, layer.slope),
        "tanh": tf.tanh,
        "sigmoid": tf.sigmoid,
        "swish": tf.nn.silu,
        "gelu": lambda value: tf.nn.gelu(value, approximate=False),
        "gelu_tanh": lambda value: tf.nn.gelu(value, approximate=True),
    }
    return functions[layer.kind]
