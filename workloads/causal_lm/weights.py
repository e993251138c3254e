"""Weights of a Hugging Face model, one block after the other: read from safetensors, or drawn.

No more than a block of them is in memory at once. What a folder does not store has random values of the
model's own distributions.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from workloads.causal_lm.four_bit import PARTS, FourBitLinear, pack
from workloads.causal_lm.libraries import import_library
from workloads.native.torch_blocks import find_blocks

NamedTensors = Iterator[tuple[str, Tensor]]


def find_stored(folder: Path) -> dict[str, Path]:
    """Return the file of each weight that a folder stores; none where one cannot be read."""
    library = import_library("safetensors")
    stored: dict[str, Path] = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with library.safe_open(path, "pt") as file:
                stored |= dict.fromkeys(file.keys(), path)
        except library.SafetensorError:
            return {}
    return stored


def iterate_weights(base: nn.Module, adapted: nn.Module, stored: Mapping[str, Path]) -> NamedTensors:
    """Yield parameters and buffers of an adapted model by name; those of adapters last.

    Args:
        base: the model of transformers, on the meta device.
        adapted: the same with packed layers and adapters, on the meta device.
        stored: files of weights of `base`.
    """
    parts = {_find_base_name(name): (name, part) for name, part in adapted.named_modules()}
    for name, values in _iterate_base(base, stored):
        path, _, leaf = name.rpartition(".")
        new_path, part = parts[path]
        if leaf == "weight" and isinstance(part, FourBitLinear):
            for packed, packed_values in zip(PARTS, pack(values), strict=True):
                yield f"{new_path}.{packed}", packed_values
        else:
            yield f"{new_path}.{leaf}", values
    yield from _draw_adapters(adapted)


def _find_base_name(name: str) -> str:
    """Return a module's name without the modules that peft puts around it."""
    return name.removeprefix("base_model.model.").replace(".base_layer", "")


def _iterate_base(base: nn.Module, stored: Mapping[str, Path]) -> NamedTensors:
    blocks = {*find_blocks(base)}
    done: set[int] = set()  # a weight that modules share is made once

    def visit(path: str, module: nn.Module, owner: Any) -> NamedTensors:
        owner = module if hasattr(module, "_init_weights") else owner  # of models in a model their own
        is_block = module in blocks
        for name, child in [] if is_block else module.named_children():
            yield from visit(f"{path}.{name}" if path else name, child, owner)
        parts = dict(module.named_modules(prefix=path)) if is_block else {path: module}
        empty = _list_tensors(parts, done)
        done.update(id(tensor) for *_, tensor in empty)
        made = {id(tensor): _read(name, tensor, stored) for name, *_, tensor in empty}
        for _, tensors, key, tensor in empty:
            tensors[key] = made[id(tensor)]
        with torch.no_grad():
            for part in _list_children_first(module) if is_block else (module,):
                owner._init_weights(part)  # it leaves out what was read
        yield from {id(tensor): (name, made[id(tensor)].detach()) for name, *_, tensor in empty}.values()
        for _, tensors, key, tensor in empty:
            tensors[key] = tensor

    return visit("", base, base)


def _list_tensors(parts: Mapping[str, nn.Module], done: set[int]) -> list[tuple[str, Any, str, Tensor]]:
    """List the tensors of modules that were not made: name, the mapping that holds it, its key there."""
    return [
        (f"{path}.{key}" if path else key, tensors, key, tensor)
        for path, part in parts.items()
        for tensors in (part._parameters, part._buffers)
        for key, tensor in tensors.items()
        if tensor is not None and id(tensor) not in done
    ]


def _read(name: str, empty: Tensor, stored: Mapping[str, Path]) -> Tensor:
    """Return a weight that is read, or one without values, which transformers then draws."""
    made = torch.empty_like(empty, device="cpu")
    if name in stored:
        with import_library("safetensors").safe_open(stored[name], "pt") as file:
            made = file.get_tensor(name).to(empty.dtype, copy=True)  # a file that is open counts as memory
    made = nn.Parameter(made, requires_grad=False) if isinstance(empty, nn.Parameter) else made
    made._is_hf_initialized = name in stored  # type: ignore[attr-defined]  # the mark of transformers
    return made


def _list_children_first(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        yield from _list_children_first(child)
    yield module


def _draw_adapters(model: nn.Module) -> NamedTensors:
    """Yield new adapters: those that train nothing yet, as peft makes them."""
    for path, layer in model.named_modules():
        if not hasattr(layer, "reset_lora_parameters"):
            continue
        adapters = nn.ModuleDict(
            {name: part for name, part in layer.named_children() if name != "base_layer"}
        )
        adapters.to_empty(device="cpu")
        layer.reset_lora_parameters("default", True)  # peft's own signature
        yield from ((f"{path}.{name}", weight.detach()) for name, weight in adapters.named_parameters())
        adapters.to("meta")
