"""Builds a workload's sequential network in Keras on TensorFlow; twin of `sequential_torch.py`."""

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from workloads.initial import State, initial_weights
from workloads.spec import Conv2d, Dense, Flatten, Layer, MaxPool2d, WorkloadSpec


def build(spec: WorkloadSpec, seed: int) -> Any:
    """Make the `keras.Sequential`, with the initial weights of `seed`, under the global precision policy.

    It maps images: [batch, height, width, channel] float32 to logits: [batch, num_classes] float32.
    """
    *hidden, last = enumerate(spec.layers)
    model = keras.Sequential([keras.Input(spec.input_shape)])
    for index, layer in hidden:
        for each in _layers_of(layer, index, dtype=None):
            model.add(each)
    for each in _layers_of(last[1], last[0], dtype="float32"):  # logits are float32 at every precision
        model.add(each)
    load_state(model, initial_weights(spec, seed))
    return model


def state_of(model: Any) -> State:
    """Copy the parameters out, by canonical name and in canonical layout (`workloads/initial.py`)."""
    # keras 3.15: np.array(variable) warns under numpy 2
    return {name: np.array(variable.value.numpy()) for name, variable in _named(model)}


def load_state(model: Any, state: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Overwrite the parameters with a state of canonical names and layout."""
    for name, variable in _named(model):
        variable.assign(state[name])


def _layers_of(layer: Layer, index: int, *, dtype: str | None) -> Iterator[Any]:
    common = {"name": f"layer_{index}", "dtype": dtype}
    match layer:
        case Conv2d():
            if layer.padding:  # Keras' "same" pads unevenly where the stride is above 1
                yield keras.layers.ZeroPadding2D(layer.padding, dtype=dtype)
            yield keras.layers.Conv2D(
                layer.filters, layer.kernel, strides=layer.stride, activation=layer.activation, **common
            )
        case MaxPool2d():
            yield keras.layers.MaxPool2D(layer.size, **common)
        case Flatten():
            yield keras.layers.Flatten(**common)
        case Dense():
            yield keras.layers.Dense(layer.units, activation=layer.activation, **common)


def _named(model: Any) -> Iterator[tuple[str, Any]]:
    """Variables by canonical name: the layer's index and `kernel` or `bias`."""
    for layer in model.layers:
        for variable in layer.weights:
            yield f"{layer.name.removeprefix('layer_')}.{variable.name}", variable
