"""All that a further identical step of a TensorFlow training needs: its variables by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from workloads.with_keras.network import named_variables
from workloads.with_keras.training import Networks


def variables_of(networks: Networks, optimizers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """`weight.<canonical name>`, `slot.<network>.<index>` and `draws.<network>.<index>` in Keras' own order.

    Slots are all variables of an optimizer, the scale of the loss included; dropout draws from the last.
    """
    for name, model in networks.models.items():
        for key, variable in named_variables(model, networks.specs[name]):
            yield f"weight.{name}.{key}", variable
        weights = {id(each) for each in model.weights}
        drawing = [each for each in model.variables if id(each) not in weights]
        yield from ((f"draws.{name}.{index}", each) for index, each in enumerate(drawing))
    for name, optimizer in optimizers.items():
        yield from ((f"slot.{name}.{index}", each) for index, each in enumerate(optimizer.variables))
