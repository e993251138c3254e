"""Data-parallel training of a user's own PyTorch job with DistributedDataParallel."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from orchestrator.core.result import DeviceFacts
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.native.torch_job import (
    clip,
    compute_quality,
    copy_arrays,
    copy_state,
    put_back,
)
from orchestrator.train.trainers.torch_process import (
    TorchProcess,
    build_facts,
    drawing_states,
    join,
    set_drawing_states,
)
from workloads.native.torch_blocks import recompute_blocks
from workloads.native.torch_data import TorchBatches
from workloads.native.torch_step import JobLoss, ProductDtype, moved, replace_tensors
from workloads.spec import NativeSpec, Phase
from workloads.with_torch.float8 import convert_linear_layers, find_heads, has_float8_layers


class NativeTorchDdpTrainer(TorchProcess):
    """The job's own model, loss, optimizer and scheduler; one process per replica, as `TorchDdpTrainer`.

    Run on CPUs; the path of GPUs follows the documentation and has not been run.
    """

    def setup(self, workload: NativeSpec, job: WorkerJob, batches: TorchBatches) -> None:
        """Rendezvous, and the job built from the seed of the trial and put on the device."""
        self.open(job)
        self._worker_job = job
        self._has_unused_weights = workload.cost.has_unused_weights
        self._batches = batches
        self._job = batches.load()
        if self._precision.float8:
            heads = find_heads(self._job.model)
            convert_linear_layers(self._job.model, heads=heads, emulates=job.kind == "cpu")
        self._loss_of = JobLoss(self._job).train()
        recompute_blocks(self._job, job.trial.memory_settings.activation_checkpointing)
        self._place_model()
        self._product = ProductDtype(self._loss_of)
        join(job, device=self._device, listener=self._listener)

    def begin(self, phase: Phase) -> None:  # noqa: ARG002  # a job has one part
        """Let the ranks average their gradients."""
        if self._is_compiled:
            self._loss_of.compile(dynamic=False)
        self._weights = [weight for weight in self._loss_of.parameters() if weight.requires_grad]
        self._replica = self._loss_of if self._worker_job.world_size == 1 else self._replicate()

    def step(self, index: int) -> None:  # noqa: ARG002  # the loader knows the order
        """Forward and backward of every part of the batch, clipping, update, learning rate."""
        job, parts = self._job, self._batches.take()
        for optimizer in job.optimizers:
            optimizer.zero_grad()
        self._losses = [
            self._differentiate(part, len(parts), is_last=number == len(parts))
            for number, part in enumerate(parts, start=1)
        ]
        if job.clip_norm is not None:
            for optimizer in job.optimizers:
                self._scaler.unscale_(optimizer)
            clip(job, self._weights)
        for optimizer in job.optimizers:
            self._scaler.step(optimizer)
        self._scaler.update()
        for scheduler in job.schedulers:
            scheduler.step()
        self.samples += self._batches.global_batch_size // self._worker_job.world_size

    def losses(self) -> Mapping[str, float]:
        """Return the mean over the ranks, which have equal shares."""
        loss = torch.stack(self._losses).sum()
        if self._worker_job.world_size > 1:
            dist.all_reduce(loss)
        return {"model": loss.item() / self._worker_job.world_size}

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # the job decides
        """Each rank computes all of it, with weights that are the same on every rank."""
        with self._autocast:
            return compute_quality(self._job)

    def device_facts(self) -> DeviceFacts:
        """Return the device of the last loss and the dtype of the step's first product."""
        has_float8 = has_float8_layers(self._job.model)
        return build_facts(self._losses[0].device, str(self._product.name), has_float8=has_float8)

    def state(self) -> Mapping[str, Any]:
        """Trained weights by their names in the model."""
        return copy_state(self._job.model)

    def checkpoint(self) -> Mapping[str, Any]:
        """Every rank has drawn as often as the others, so that the state of its draws is theirs."""
        rest = {"draws": drawing_states(self._device), "scaler": self._scaler.state_dict()}
        return copy_arrays(self._job, rest)

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore in place, because the replica and its reducer hold these parameters."""
        rest = put_back(arrays, self._job)
        set_drawing_states({name: state.numpy() for name, state in rest["draws"].items()}, self._device)
        self._scaler.load_state_dict(rest["scaler"])

    def _place_model(self) -> None:
        if self._device.type != "cpu":
            replace_tensors(self._loss_of, self._job.optimizers, lambda tensor: tensor.to(self._device))

    def _replicate(self) -> nn.Module:
        return DistributedDataParallel(self._loss_of, find_unused_parameters=self._has_unused_weights)

    def _differentiate(self, part: Any, count: int, *, is_last: bool) -> Tensor:
        """Add the gradients of one of `count` parts, and return its share of the loss.

        The ranks exchange gradients once, with the last part.
        """
        batch = moved(part, lambda tensor: tensor.to(self._device, non_blocking=True), device=self._device)
        with nullcontext() if is_last else self.without_exchange() or nullcontext():
            with self._autocast:
                loss: Tensor = self._replica(batch)
                loss = loss if count == 1 else loss / count
            torch.autograd.backward(self._scaler.scale(loss))
        return loss.detach()
