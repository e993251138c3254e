"""The tensors of a PyTorch module that make one parameter, and how they lie in canonical layout."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from workloads.with_torch.shards import gather, shard_like


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A parameter or buffer of a module.

    Attributes:
        axes: the module's axes in the order of the canonical layout; None where both are one.
        below: a second tensor of the same shape, which is the second row of the canonical array.
        gates: where the last canonical axis holds gates of one size side by side, the module's index of each
            canonical gate; None where both orders are one.
    """

    tensor: Tensor
    axes: tuple[int, ...] | None = None
    below: Tensor | None = None
    gates: tuple[int, ...] | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The module's own."""
        return (self.tensor,) if self.below is None else (self.tensor, self.below)

    def canonical(self) -> Tensor:
        """The values in canonical layout, through which gradients flow."""
        whole = self.tensor if self.below is None else torch.stack(self.tensors)
        laid = whole if self.axes is None else whole.permute(self.axes)
        return laid if self.gates is None else _reordered(laid, self.gates)

    def array(self) -> npt.NDArray[np.float32]:
        """A copy in canonical layout."""
        return np.array(gather(self.canonical().detach()).cpu().numpy(), order="C")

    def load(self, array: npt.NDArray[np.float32]) -> None:
        """Overwrite it with an array in canonical layout."""
        laid = torch.from_numpy(array)
        if self.gates is not None:
            laid = _reordered(laid, _inverse(self.gates))
        whole = laid if self.axes is None else laid.permute(_inverse(self.axes))
        with torch.no_grad():
            for tensor, values in zip(
                self.tensors, whole[None] if self.below is None else whole, strict=True
            ):
                tensor.copy_(shard_like(values, tensor))


def _reordered(values: Tensor, gates: tuple[int, ...]) -> Tensor:
    parts = values.chunk(len(gates), -1)
    return torch.cat([parts[index] for index in gates], -1)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(index) for index in range(len(order)))
