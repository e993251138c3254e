"""The dtype that a torch model's first product really has in a step, whatever was asked for."""

from typing import Any

import torch
from torch import Tensor, nn

from workloads.with_torch.layers import PRODUCTS


class FirstProduct:
    """Looks once at the first convolution, dense or recurrent layer of `model`, in its next forward pass.

    Attributes:
        dtype: of its output, as in `float32`; None before that pass.
    """

    def __init__(self, model: nn.Module) -> None:
        self.dtype: str | None = None
        first = next(each for each in model.modules() if isinstance(each, PRODUCTS))
        self._hook = first.register_forward_hook(self._see)

    def _see(self, _module: nn.Module, _inputs: Any, output: Tensor) -> None:
        self.dtype = str(output.dtype).removeprefix("torch.")
        if not torch.compiler.is_compiling():
            self._hook.remove()
