"""A training step for the processes that capture or count it: a workload's last phase, or a native job."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from orchestrator.train.capture.request import HELD_PASSES, CaptureRequest, batch_shapes
from workloads.jobs import TorchJob
from workloads.native.code import find_builder
from workloads.native.torch_blocks import find_blocks, recompute_blocks
from workloads.native.torch_samples import Make, batch_resizer
from workloads.native.torch_step import JobLoss, replace_tensors
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


class NativeStep:
    """The step of a job with replaced parameters and buffers.

    Args:
        place: returns the tensor to use in the place of a parameter or buffer.

    Attributes:
        module: the model within its loss.
        optimizers: those of the job.
    """

    def __init__(self, request: CaptureRequest, place: Callable[[Tensor], Tensor]) -> None:
        assert request.origin is not None, "native jobs lie in a user's folder"
        torch.manual_seed(0)
        build = find_builder(request.origin, "torch", request.workload_options, job_class=TorchJob)
        self._job = build()
        self._size = request.global_batch_size
        self._passes = request.passes
        self._resized = batch_resizer(self._job)
        self.module = JobLoss(self._job).train()
        recompute_blocks(self._job, request.memory_settings.activation_checkpointing)
        replace_tensors(self.module, self._job.optimizers, place)
        self.optimizers = list(self._job.optimizers)

    def list_blocks(self) -> tuple[nn.Module, ...]:
        """List the repeated blocks of the model."""
        return find_blocks(self._job.model, self._job.blocks)

    def batch(self, make: Make) -> Any:
        """Return the parts of a batch, of tensors that `make` makes of a shape and a dtype."""
        count = self._job.accumulation_steps
        size = self._size // self._passes // count
        return [self._resized(size, make) for _ in range(count * min(self._passes, HELD_PASSES))]

    def take(self, parts: Any, *, autocast: AbstractContextManager[object]) -> Mapping[str, Tensor]:
        """Take the step on a batch, and return its loss."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        losses = []
        for part in parts:
            with autocast:
                loss = self.module(part) / len(parts)
            loss.backward()
            losses.append(loss.detach())
        if self._job.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.module.parameters(), self._job.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()
        return {"model": torch.stack(losses).sum()}
