"""Count of the memory that the tensors of a torch_ddp training step take, on tensors without data.

A replica's step runs on fake CPU tensors, which have shapes and no data, with every operation of the real
step. The storages that live at once are those of a GPU, except for the workspaces of its kernels.
"""

import gc
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from orchestrator.core import codec
from orchestrator.train.capture.request import CaptureRequest, refusals
from orchestrator.train.capture.steps import DeclaredStep, NativeStep
from orchestrator.train.precision import PRECISIONS, Precision
from workloads.native.torch_depth import count_all, find_equal_list, mark_parts
from workloads.native.torch_live import LiveStorages
from workloads.native.torch_samples import make_empty
from workloads.native.torch_step import without_data

_GRADIENTS = "gradients"
"""Name of a count: all other ones are of parts of a step."""

_DEPTHS = (4, 3, 2)
"""Blocks that are counted of many equal ones: first, last and others hold other tensors."""


def count(request: CaptureRequest) -> dict[str, int]:
    """Return the peak of live bytes in a steady step, and the bytes of all gradients.

    Args:
        request: its batch is that of one replica.
    """
    whole = StepCount(request)
    blocks = find_equal_list(whole.step.module, whole.step.list_blocks()) if request.is_native else None
    counts = whole() if blocks is None else count_few_blocks(whole, blocks) or StepCount(request)()
    return {
        "tensor_bytes": max(size for part, size in counts.items() if part != _GRADIENTS),
        "gradient_bytes": counts[_GRADIENTS],
    }


def count_few_blocks(count: "StepCount", blocks: nn.ModuleList) -> Mapping[str, int] | None:
    """Count each part of a step from a few of its equal blocks; None where their counts show a difference."""
    # Before the model begins, the gradients of the last step live until they are freed.
    count.step.module.register_forward_pre_hook(lambda *_: count.live.begin("forward"))
    mark_parts(blocks, count.live.begin)

    def mark_backward(_module: Any, _inputs: Any, loss: Tensor) -> None:
        # autocast, which has ended then, frees its casts of weights: they grow with the blocks
        loss.register_hook(lambda _: count.live.begin("before backward"))  # type: ignore[no-untyped-call]

    count.step.module.register_forward_hook(mark_backward)
    for optimizer in count.step.optimizers:
        optimizer.register_step_pre_hook(lambda *_: count.live.begin("update"))
    try:
        return count_all(blocks, count.step.optimizers, count, depths=_DEPTHS)
    except Exception:  # noqa: BLE001  a user's model that needs all of its blocks
        return None


class StepCount:
    """Counts of a step on tensors without data: the most bytes of each of its parts, and of gradients.

    Attributes:
        live: the storages of its tensors.
    """

    def __init__(self, request: CaptureRequest) -> None:
        self._request = request
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._is_steady = False
        place = partial(without_data, self._mode)
        self.step = NativeStep(request, place) if request.is_native else DeclaredStep(request, place)
        # as on a GPU all weights are updated at once, where it is open: Adam holds a copy of them
        for group in (group for optimizer in self.step.optimizers for group in optimizer.param_groups):
            if group.get("foreach", False) is None and not group.get("fused"):
                group["foreach"] = True
        self.live = LiveStorages()
        if request.shards > 1:
            with self._mode, self.live:
                _shard(self.step, self.live, request.shards)

    def __call__(self) -> Mapping[str, int]:
        """Take a step; the first one makes the optimizers' state and gradients, and is taken again."""
        gc.collect()  # a module that was dropped, in a cycle, keeps its weights
        with self._mode, self.live:
            for _ in range(1 if self._is_steady else 2):
                self.live.restart()
                autocast = _autocast(PRECISIONS[self._request.precision])
                self.step.take(self.step.batch(make_empty), autocast=autocast)
        self._is_steady = True
        weights = (
            weight for one in self.step.optimizers for group in one.param_groups for weight in group["params"]
        )
        gradients = (weight.grad for weight in weights)
        size = sum(gradient.nbytes for gradient in gradients if gradient is not None)
        return {**self.live.peaks, _GRADIENTS: size}


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


def _autocast(precision: Precision) -> AbstractContextManager[object]:
    """Return the CPU's autocast: its half precision has as many bytes as any other."""
    if precision.compute_dtype == "float32":
        return nullcontext()
    return torch.autocast("cpu", dtype=torch.bfloat16)


def main() -> None:
    """Read requests from standard input, and answer each with a line: the count, or why there is none."""
    for line in sys.stdin:
        with refusals() as answer:
            answer |= count(codec.from_json(CaptureRequest, line))
        sys.stdout.write(f"\n{json.dumps(answer)}\n")  # what a job printed may lack the end of its line
        sys.stdout.flush()
        gc.collect()  # a model is in a cycle with its hooks, and would live beside the next one


if __name__ == "__main__":
    main()
