"""A tensor of a PyTorch module, and how its axes lie in canonical layout."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A parameter or buffer of a module.

    Attributes:
        axes: the module's axes in the order of the canonical layout; None where both are one.
    """

    tensor: Tensor
    axes: tuple[int, ...] | None = None

    def canonical(self) -> Tensor:
        """A view in canonical layout, through which gradients flow."""
        return self.tensor if self.axes is None else self.tensor.permute(self.axes)

    def array(self) -> npt.NDArray[np.float32]:
        """A copy in canonical layout."""
        return np.array(self.canonical().detach().cpu().numpy(), order="C")

    def load(self, array: npt.NDArray[np.float32]) -> None:
        """Overwrite it with an array in canonical layout."""
        with torch.no_grad():
            self.canonical().copy_(torch.from_numpy(array))
