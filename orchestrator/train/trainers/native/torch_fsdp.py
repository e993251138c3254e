"""Data-parallel training of a user's own PyTorch job with sharded weights, gradients and optimizer state."""

from collections.abc import Iterable, Mapping

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule

from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.native.torch_ddp import NativeTorchDdpTrainer
from orchestrator.train.trainers.torch_fsdp import reshard, shard
from workloads.native.torch_blocks import find_blocks
from workloads.native.torch_data import TorchBatches
from workloads.spec import NativeSpec


class NativeTorchFsdpTrainer(NativeTorchDdpTrainer):
    """The job's own model, loss, optimizer and scheduler over shards, as `TorchFsdpTrainer`."""

    def setup(self, workload: NativeSpec, job: WorkerJob, batches: TorchBatches) -> None:
        """Set up as `torch_ddp`, and shard the model block by block; it is on the host until then."""
        super().setup(workload, job, batches)
        names = {weight: name for name, weight in self._loss_of.named_parameters()}
        shard(self._loss_of, find_blocks(self._job.model, self._job.blocks), self._device)
        shards = dict(self._loss_of.named_parameters())
        _replace_weights(self._job.optimizers, {weight: shards[name] for weight, name in names.items()})

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Evaluate the whole set on each rank, with the moving statistics of the first: those of checkpoints.

        The job calls its model, and not the loss that gathers the rest of it.
        """
        assert isinstance(self._loss_of, FSDPModule), "it was sharded"
        for statistic in self._loss_of.buffers():
            dist.broadcast(statistic, 0)
        self._loss_of.unshard()
        quality = super().evaluate(limit)
        reshard(self._loss_of)
        return quality

    def _place_model(self) -> None:
        """Leave the model on the host."""

    def _replicate(self) -> nn.Module:
        return self._loss_of


def _replace_weights(
    optimizers: Iterable[torch.optim.Optimizer], shards: Mapping[nn.Parameter, nn.Parameter]
) -> None:
    """Put shards in the place of the weights of optimizers that have taken no step."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["params"] = [shards.get(weight, weight) for weight in group["params"]]
