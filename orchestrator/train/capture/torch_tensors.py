"""Count of the memory that the tensors of a torch_ddp training step take, on tensors without data.

A replica's step runs on fake CPU tensors, which have shapes and no data, with every operation of the real
step. The storages that live at once are those of a GPU, except for the workspaces of its kernels.
"""

import json
import sys
import weakref
from collections.abc import Iterable
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
    """The bytes of all storages that an operation has touched and that are alive, and the most there were.

    Attributes:
        shards: replicas over which storages are sharded that are noted from now on.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.shards = 1
        self.peak_bytes = 0
        self._bytes = 0
        self._held_bytes = 0
        self._sizes: dict[int, int] = {}

    def restart(self) -> None:
        """Forget the most that there were."""
        self.peak_bytes = self._bytes

    def hold(self, num_bytes: int) -> None:
        """Add bytes of which no operation is seen, in the place of those that were added before."""
        self._grow(num_bytes - self._held_bytes)
        self._held_bytes = num_bytes

    def shard(self, tensor: Tensor, count: int) -> None:
        """Count this replica's part of a tensor's storage alone."""
        storage = tensor.untyped_storage()
        self._note(tensor)
        size = _align(-(-storage.nbytes() // count))
        self._grow(size - self._sizes[storage._cdata])
        self._sizes[storage._cdata] = size

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
            self._sizes[key] = _align(-(-storage.nbytes() // self.shards))
            self._grow(self._sizes[key])
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._bytes -= self._sizes.pop(key)

    def _grow(self, num_bytes: int) -> None:
        self._bytes += num_bytes
        self.peak_bytes = max(self.peak_bytes, self._bytes)


def _align(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def count(request: CaptureRequest) -> dict[str, int]:
    """Return the peak of live bytes in a steady step, and the bytes of all gradients.

    Args:
        request: its batch is that of one replica.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    step = (NativeStep if request.is_native else DeclaredStep)(request, partial(without_data, mode))
    _update_as_on_gpus(step.optimizers)
    with mode, LiveStorages() as live:
        if request.shards > 1:
            _shard(step, live, request.shards)
        for _ in range(2):  # the first one makes the optimizers' state and the first gradients
            live.restart()
            step.take(step.batch(_empty), autocast=_autocast(PRECISIONS[request.precision]))
    weights = (weight for one in step.optimizers for group in one.param_groups for weight in group["params"])
    gradients = (weight.grad for weight in weights)
    return {
        "tensor_bytes": live.peak_bytes,
        "gradient_bytes": sum(gradient.nbytes for gradient in gradients if gradient is not None),
    }


def _update_as_on_gpus(optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Update all weights at once, as PyTorch does on a GPU, where it is open: Adam holds a copy of them."""
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        if group.get("foreach", False) is None and not group.get("fused"):
            group["foreach"] = True


def _shard(step: DeclaredStep | NativeStep, live: LiveStorages, count: int) -> None:
    """Count shards of weights, gradients and slots, and beside a pass what it gathers.

    The rest of the model is whole in a pass, and two blocks: one that computes, and the next. Gradients are
    whole until a block's are reduced, beside those of the block before. An update sees shards alone.
    """
    blocks = [{*block.parameters()} for block in step.list_blocks()]
    in_blocks = set().union(*blocks)
    rest = [weight for weight in step.module.parameters() if weight not in in_blocks]
    gathered = _count_bytes(rest) + 2 * max(map(_count_bytes, blocks), default=0)
    trained = [[weight for weight in part if weight.requires_grad] for part in (rest, *blocks)]
    reduced = _count_bytes(trained[0]) + 2 * max(map(_count_bytes, trained[1:]), default=0)

    def reduce(weight: Tensor) -> None:
        assert weight.grad is not None, "it was just made"
        live.shard(weight.grad, count)
        live.hold(gathered + reduced)

    def begin_update(*_: Any) -> None:
        live.hold(0)
        live.shards = count

    def end_update(*_: Any) -> None:
        live.hold(gathered)
        live.shards = 1

    for weight in step.module.parameters():
        live.shard(weight, count)
        if weight.requires_grad:
            weight.register_post_accumulate_grad_hook(reduce)  # type: ignore[no-untyped-call]  # torch's own
    for optimizer in step.optimizers:
        optimizer.register_step_pre_hook(begin_update)
        optimizer.register_step_post_hook(end_update)
    live.hold(gathered)


def _count_bytes(weights: Iterable[Tensor]) -> int:
    return sum(weight.nbytes for weight in weights)


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
