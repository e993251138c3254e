"""A training step of a declared workload's last phase, for the processes that capture or count it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from orchestrator.train.capture.request import HELD_PASSES, CaptureRequest, batch_shapes
from workloads.native.torch_samples import Make
from workloads.native.torch_step import replace_tensors
from workloads.with_torch.training import Losses, Networks, build_optimizer, split_batch


class DeclaredStep:
    """The step of networks that were put elsewhere, as `NativeStep`; their weights never take memory."""

    def __init__(self, request: CaptureRequest, place: Callable[[Tensor], Tensor]) -> None:
        spec = request.spec()
        phase = spec.phases[-1]
        self.module = Networks(spec, None)
        self.module.recompute_blocks(request.memory_settings.activation_checkpointing)
        replace_tensors(self.module, [], place)
        trained = self.module.train_in(phase)
        self._build_losses = Losses(self.module, phase)
        self.optimizers = [
            build_optimizer(phase.optimizers[name], weights) for name, weights in trained.items()
        ]
        self._passes = request.passes
        self._shapes = batch_shapes(spec, request.global_batch_size)

    def list_blocks(self) -> tuple[nn.Module, ...]:
        """List the modules of repeated blocks, through which the step goes from now on."""
        return tuple(block for _, network in self.module.named() for block in network.make_blocks())

    def batch(self, make: Make) -> Any:
        """Return a batch of tensors that `make` makes of a shape and a dtype."""
        return {name: make(shape, getattr(torch, dtype)) for name, (shape, dtype) in self._shapes.items()}

    def take(self, batch: Any, *, autocast: AbstractContextManager[object]) -> Mapping[str, Tensor]:
        """Take the step on a batch, and return the loss of each network."""
        for number, part in enumerate(split_batch(batch, self._passes)[:HELD_PASSES]):
            with autocast:
                losses = self._build_losses(part)
            if number == 0:
                for optimizer in self.optimizers:
                    optimizer.zero_grad()
            torch.autograd.backward([*losses.values()])
        for optimizer in self.optimizers:
            optimizer.step()
        return {name: loss.detach() for name, loss in losses.items()}
