"""Data-parallel training of a user's own PyTorch job with PyTorch/XLA."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch_xla
from torch import Tensor
from torch_xla.core import xla_model

from orchestrator.core.result import DeviceFacts
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.native.torch_job import (
    clip,
    compute_quality,
    copy_arrays,
    copy_state,
    put_back,
)
from orchestrator.train.trainers.torch_xla_trainer import TorchXlaTrainer, average_gradients
from workloads.native.torch_data import TorchBatches
from workloads.native.torch_step import JobLoss, ProductDtype, moved, replace_tensors
from workloads.spec import NativeSpec, Phase


class NativeTorchXlaTrainer(TorchXlaTrainer):
    """The job's own model, loss, optimizer and scheduler on the devices of `TorchXlaTrainer`.

    A batch of another shape than those before is compiled anew: a job pads its samples to one length.
    """

    def setup(  # type: ignore[override]  # a job has batches of its own
        self,
        workload: NativeSpec,  # noqa: ARG002  # the job tells all
        job: WorkerJob,
        batches: TorchBatches,
    ) -> None:
        """Rendezvous, mesh, and the job built from the seed of the trial and put on the device."""
        with self.opened(job):
            self._own_batches, self._own_job = batches, batches.load()
            self._loss_of = JobLoss(self._own_job).train()
            replace_tensors(self._loss_of, self._own_job.optimizers, lambda tensor: tensor.to(self._device))
            self._weights = [weight for weight in self._loss_of.parameters() if weight.requires_grad]
            self._product = ProductDtype(self._loss_of)

    def begin(self, phase: Phase) -> None:
        """Do nothing, because a job has one part."""

    def step(self, index: int) -> None:  # noqa: ARG002  # the loader knows the order
        """Record forward, backward and update of a step, and hand them to the devices."""
        job, parts = self._own_job, self._own_batches.take()
        for optimizer in job.optimizers:
            optimizer.zero_grad()
        losses = [self._differentiate(part, len(parts)) for part in parts]
        if self._sums:
            average_gradients(self._weights)
        clip(job, self._weights)
        for optimizer in job.optimizers:
            optimizer.step()
        self._losses = {"model": torch.stack(losses).sum()}
        torch_xla.sync()
        for scheduler in job.schedulers:
            scheduler.step()
        self.samples += self._own_batches.global_batch_size // self._job.world_size

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # the job decides
        """Each host computes all of it."""
        with self._autocast:
            return compute_quality(self._own_job)

    def device_facts(self) -> DeviceFacts:
        """Return the devices that hold a part of a batch, and the dtype of the step's first product."""
        return self.facts(str(self._product.name), None)

    def state(self) -> Mapping[str, Any]:
        """Trained weights by their names in the model."""
        return copy_state(self._own_job.model)

    def checkpoint(self) -> Mapping[str, Any]:
        """Every device holds all of it."""
        draws = {"draws.xla": np.array(xla_model.get_rng_state())}
        return copy_arrays(self._own_job, {}) | draws

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Sent to the devices at once, so that the next step's program is that of any other."""
        put_back(arrays, self._own_job)
        torch_xla.sync()  # which moves the state of the draws on: torch_xla 2.9
        xla_model.set_rng_state(arrays["draws.xla"].item())

    def _differentiate(self, part: Any, count: int) -> Tensor:
        batch = moved(part, self._sent)
        with self._autocast:
            loss: Tensor = self._loss_of(batch)
            loss = loss if count == 1 else loss / count
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        return loss.detach()

    def _sent(self, tensor: Tensor) -> Tensor:
        """Split a tensor over the devices by its first axis."""
        self._example = self.split(tensor, is_part=True)
        return self._example
