"""Builds a network in Keras on TensorFlow; twin of `with_torch/network.py`."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from workloads.initial import State, initial_weights
from workloads.layers import Layer
from workloads.network import INPUT, Network
from workloads.sequence_layers import TiedDense
from workloads.shapes import find_input_shapes, list_parameters
from workloads.with_keras.layers import compute_padding, make_keras_layer, require_declared
from workloads.with_keras.recurrent import BidirectionalCell
from workloads.with_keras.sequences import TiedLogits


def build(network: Network, seed: int) -> Any:
    """Make the `keras.Model`, with the initial weights of `seed`, under the global precision policy.

    It maps images [batch, height, width, channel], vectors or token ids to the last node's output in float32.
    """
    made_before: list[Any] = []
    entry = keras.Input(network.input_shape, dtype="int32" if network.takes_tokens else "float32")
    values, last = {INPUT: entry}, len(network.nodes) - 1
    for index, node in enumerate(network.nodes):
        dtype = "float32" if index == last else None  # float32 at every precision
        inputs = [values[source] for source in node.inputs]
        padding = compute_padding(node.layer)
        if padding is not None:
            inputs[0] = keras.layers.ZeroPadding2D(padding, dtype=dtype)(inputs[0])
        made = _build_layer(node.layer, made_before, name=layer_name(index), dtype=dtype)
        values[index] = made(*inputs)
        made_before.append(made)
        require_declared(node.layer, made)
    model = keras.Model(entry, values[last])
    load_state(model, network, initial_weights(network, seed))
    return model


def _build_layer(layer: Layer, made_before: list[Any], *, name: str, dtype: str | None) -> Any:
    if isinstance(layer, TiedDense):
        return TiedLogits(layer, made_before[layer.embedding], name=name, dtype=dtype)
    return make_keras_layer(layer, name=name, dtype=dtype)


def layer_name(index: int) -> str:
    """Return the name of a node's Keras layer."""
    return f"node_{index}"


def named_variables(model: Any, network: Network) -> Iterator[tuple[str, Any]]:
    """Return all parameters and moving statistics, `<node index>.<name>`, in canonical order."""
    for index, (node, shape) in enumerate(zip(network.nodes, find_input_shapes(network), strict=True)):
        for name in list_parameters(node.layer, shape):
            yield f"{index}.{name}", build_variable(model.get_layer(layer_name(index)), name)


def build_variable(layer: Any, name: str) -> Any:
    """Return a Keras layer's variable by canonical name."""
    return layer.variable(name) if isinstance(layer, BidirectionalCell) else getattr(layer, name)


def copy_state(model: Any, network: Network) -> State:
    """Copy the parameters out, in canonical layout (`workloads/initial.py`)."""
    # keras 3.15: np.array(variable) warns under numpy 2
    return {name: np.array(variable.value.numpy()) for name, variable in named_variables(model, network)}


def load_state(model: Any, network: Network, state: State) -> None:
    """Overwrite the parameters with a state of canonical names and layout."""
    for name, variable in named_variables(model, network):
        variable.assign(state[name])
