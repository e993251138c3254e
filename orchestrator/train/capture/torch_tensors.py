"""Count of the memory that the tensors of a torch_ddp training step take, on tensors without data.

A replica's step runs on fake CPU tensors, which have shapes and no data, with every operation of the real
step. The storages that live at once are those of a GPU, except for the workspaces of its kernels.
"""

import json
import sys
import weakref
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from orchestrator.core import codec
from orchestrator.train.capture.declared_step import DeclaredStep
from orchestrator.train.capture.native_step import NativeStep
from orchestrator.train.capture.request import CaptureRequest, refusals
from orchestrator.train.precision import PRECISIONS, Precision
from workloads.native.torch_step import without_data

_ALIGNMENT_BYTES = 512  # of an allocation on a GPU: PyTorch, c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize


class LiveStorages(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own class
    """The bytes of all storages that an operation has touched and that are alive, and the most there were."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.peak_bytes = 0
        self._bytes = 0
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(self, operation: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note the storages of its inputs and outputs."""
        named = kwargs or {}
        output = operation(*args, **named)
        for value in tree_flatten((args, named, output))[0]:
            if isinstance(value, Tensor):
                self._note(value)
        return output

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._sizes:
            size = -(-storage.nbytes() // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
            self._sizes[key] = size
            self._bytes += size
            self.peak_bytes = max(self.peak_bytes, self._bytes)
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._bytes -= self._sizes.pop(key)


def count(request: CaptureRequest) -> dict[str, int]:
    """Return the peak of live bytes in a steady step, and the bytes of all gradients.

    Args:
        request: its batch is that of one replica.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    step = (NativeStep if request.is_native else DeclaredStep)(request, partial(without_data, mode))
    with mode, LiveStorages() as live:
        for _ in range(2):  # the first one makes the optimizers' state and the first gradients
            step.take(step.batch(_empty), autocast=_autocast(PRECISIONS[request.precision]))
    weights = (weight for one in step.optimizers for group in one.param_groups for weight in group["params"])
    gradients = (weight.grad for weight in weights)
    return {
        "tensor_bytes": live.peak_bytes,
        "gradient_bytes": sum(gradient.nbytes for gradient in gradients if gradient is not None),
    }


def _empty(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype)


def _autocast(precision: Precision) -> AbstractContextManager[object]:
    """Return the CPU's autocast: its half precision has as many bytes as any other."""
    if precision.compute_dtype == "float32":
        return nullcontext()
    return torch.autocast("cpu", dtype=torch.bfloat16)


def main() -> None:
    """Read one request from standard input, and answer with one line: the count, or `{"error": "..."}`."""
    with refusals() as answer:
        answer |= count(codec.from_json(CaptureRequest, sys.stdin.readline()))
    sys.stdout.write(f"{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
