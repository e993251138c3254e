"""All that a further identical step of a PyTorch training needs, as named arrays, and how it is put back."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.optim import Optimizer

from workloads.with_torch.network import named_weights
from workloads.with_torch.shards import gather, shard_like
from workloads.with_torch.training import Networks

Arrays = Mapping[str, npt.NDArray[Any]]

_WEIGHT = "weight."
_SLOT = "slot."


def copy_arrays(networks: Networks, optimizers: Iterable[Optimizer]) -> dict[str, npt.NDArray[Any]]:
    """Copies of `weight.<canonical name>`, and of `slot.<parameter>.<slot>` with PyTorch's own names."""
    weights = {f"{_WEIGHT}{name}": array for name, array in networks.state().items()}
    names = _names_in(networks)
    slots = {
        f"{_SLOT}{names[parameter]}.{slot}": np.array(gather(value.detach()).cpu().numpy(), order="C")
        for optimizer in optimizers
        for parameter, kept in optimizer.state.items()
        for slot, value in kept.items()
    }
    return weights | slots


def put_back(arrays: Arrays, networks: Networks, optimizers: Iterable[Optimizer]) -> None:
    """Overwrite weights and optimizer slots with what `copy_arrays` gave in the same phase of a training."""
    for name, network in networks.named():
        for key, weight in named_weights(network).items():
            weight.load(arrays[f"{_WEIGHT}{name}.{key}"])
    names = _names_in(networks)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                kept = under(f"{_SLOT}{names[parameter]}.", arrays)
                optimizer.state[parameter] = {
                    slot: _slot_like(parameter, array) for slot, array in kept.items()
                }


def under(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays with this prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _names_in(networks: Networks) -> dict[Tensor, str]:
    return {parameter: name for name, parameter in networks.named_parameters()}


def _slot_like(parameter: Tensor, array: npt.NDArray[Any]) -> Tensor:
    """Put an optimizer slot on the parameter's device and memory format; a step counter stays on the host."""
    value = torch.from_numpy(array)
    if not value.ndim:
        return value
    return torch.empty_like(parameter, requires_grad=False).copy_(shard_like(value, parameter))
