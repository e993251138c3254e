"""Linear layers that multiply in float8, by torchao: inputs, weights and gradients are cast in every pass.

A tensor has one scale, of its largest value in that pass. Weights, their names, their gradients, and values
kept for the backward pass, stay as they are. A frozen weight costs the product of a gradient that is thrown
away, unless the step is compiled.
"""

import importlib
import logging
import warnings
from collections.abc import Collection

from torch import nn

from workloads.jobs import JobError

logging.getLogger("torchao").setLevel(logging.ERROR)
"""It warns of kernels for GPUs that are not here, which no training in float8 uses."""

_DIVISOR = 16  # of both sizes of a weight: the product of float8 of CUDA takes no others (torch._scaled_mm)


def convert_linear_layers(model: nn.Module, *, heads: Collection[nn.Module], emulates: bool) -> None:
    """Replace the linear layers of a model by modules that hold the same weights and multiply in float8.

    Left as they are: heads; classes derived from `nn.Linear`, as layers with weights of 4 bits; adapters, as
    their products are too narrow to gain; and sizes that 16 does not divide.

    Args:
        heads: layers that give the outputs of the model.
        emulates: round to float8 and multiply in float32, on a device without such products.

    Raises:
        JobError: no layer is left.
        ImportError: torchao is not installed.
    """
    kept = {id(part) for head in (*heads, *_list_adapters(model)) for part in head.modules()}
    chosen = {id(part) for part in model.modules() if _is_divisible(part)} - kept
    if not chosen:
        raise JobError(
            "precision=fp8: the model has no torch.nn.Linear with sizes that 16 divides, besides its output "
            "layer, adapters and layers of 4 bits; choose precision=bf16"
        )
    with warnings.catch_warnings(action="ignore"):  # of escapes in 0.18, which Python compiles here
        float8 = importlib.import_module("torchao.float8")  # here, for it takes seconds and is an extra
    float8.convert_to_float8_training(
        model,
        module_filter_fn=lambda part, _: id(part) in chosen,
        # the rows of a batch are the inner size of a weight's gradient, and any number
        config=float8.Float8LinearConfig(emulate=emulates, pad_inner_dim=True),
    )


def find_heads(model: nn.Module) -> tuple[nn.Module, ...]:
    """Return the last output layer, which stays in the type of autocast: its errors are those of the loss.

    A model of Hugging Face names it, by `get_output_embeddings`; of others it is the linear layer that was
    registered last.
    """
    name_head = getattr(model, "get_output_embeddings", None)
    named = name_head() if callable(name_head) else None
    return (named,) if named is not None else tuple(_list_linear(model)[-1:])


def has_float8_layers(model: nn.Module) -> bool:
    """Return whether layers multiply in float8."""
    return any(type(layer).__name__ == "Float8Linear" for layer in _list_linear(model))


def _list_linear(model: nn.Module) -> list[nn.Linear]:
    return [part for part in model.modules() if isinstance(part, nn.Linear)]


def _list_adapters(model: nn.Module) -> list[nn.Module]:
    """List what peft puts beside layers, by the names that its layers have of it."""
    layers = [(layer, getattr(layer, "adapter_layer_names", ())) for layer in model.modules()]
    parts = [getattr(layer, name, None) for layer, names in layers for name in names]
    return [part for part in parts if isinstance(part, nn.Module)]


def _is_divisible(part: nn.Module) -> bool:
    return type(part) is nn.Linear and not part.in_features % _DIVISOR and not part.out_features % _DIVISOR
