"""Tensors that are sharded over replicas: their whole values, and the shards of whole values."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy.typing as npt
from torch import Tensor


def gather(tensor: Tensor) -> Tensor:
    """Return all values of a tensor; of a sharded one every replica has to ask, in the same order."""
    gather_shards: Callable[[], Tensor] | None = getattr(tensor, "full_tensor", None)
    return tensor if gather_shards is None else gather_shards()


class GatheredArrays(Mapping[str, npt.NDArray[Any]]):
    """Arrays of whole values, each made when it is asked for: no replica holds all of them at once.

    Every replica has to ask for all, in the same order.
    """

    def __init__(self, makers: Mapping[str, Callable[[], npt.NDArray[Any]]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def shard_like(values: Tensor, tensor: Tensor) -> Tensor:
    """Return this replica's shard of values that every replica has; the values where nothing is sharded."""
    if not hasattr(tensor, "full_tensor"):
        return values
    from torch.distributed.tensor import distribute_tensor

    sharded: Any = tensor
    mesh, placements = sharded.device_mesh, sharded.placements
    return distribute_tensor(values.to(tensor.device), mesh, placements, src_data_rank=None)
