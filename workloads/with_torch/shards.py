"""Tensors that are sharded over replicas: their whole values, and the shards of whole values."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def gather(tensor: Tensor) -> Tensor:
    """Return all values of a tensor; of a sharded one every replica has to ask, in the same order."""
    gather_shards: Callable[[], Tensor] | None = getattr(tensor, "full_tensor", None)
    return tensor if gather_shards is None else gather_shards()


def shard_like(values: Tensor, tensor: Tensor) -> Tensor:
    """Return this replica's shard of values that every replica has; the values where nothing is sharded."""
    if not hasattr(tensor, "full_tensor"):
        return values
    from torch.distributed.tensor import distribute_tensor

    sharded: Any = tensor
    mesh, placements = sharded.device_mesh, sharded.placements
    return distribute_tensor(values.to(tensor.device), mesh, placements, src_data_rank=None)
