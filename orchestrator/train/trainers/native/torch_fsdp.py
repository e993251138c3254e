"""Data-parallel training of a user's own PyTorch job with sharded weights, gradients and optimizer state."""

from collections.abc import Mapping
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule

from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.native.torch_ddp import NativeTorchDdpTrainer
from orchestrator.train.trainers.native.torch_job import find_makers
from workloads.native.torch_blocks import find_blocks
from workloads.native.torch_data import TorchBatches
from workloads.native.torch_step import fill_weights
from workloads.spec import NativeSpec
from workloads.with_torch.module_shards import replace_weights, reshard, shard
from workloads.with_torch.shards import GatheredArrays


class NativeTorchFsdpTrainer(NativeTorchDdpTrainer):
    """The job's own model, loss, optimizer and scheduler over shards, as `TorchFsdpTrainer`."""

    def setup(self, workload: NativeSpec, job: WorkerJob, batches: TorchBatches) -> None:
        """Set up as `torch_ddp`, shard the model block by block, and fill shards that have no values yet."""
        batches.fills = False
        super().setup(workload, job, batches)
        names = {weight: name for name, weight in self._loss_of.named_parameters()}
        blocks = find_blocks(self._job.model, self._job.blocks)
        shard(self._loss_of, blocks, self._device, count=job.shards)
        shards = dict(self._loss_of.named_parameters())
        replace_weights(self._job.optimizers, {weight: shards[name] for weight, name in names.items()})
        if self._job.iterate_weights is not None:
            fill_weights(self._job)

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

    def state(self) -> Mapping[str, Any]:
        """Trained weights by their names in the model, each gathered when it is asked for."""
        return GatheredArrays(find_makers(self._job.model))

    def _place_model(self) -> None:
        """Leave the model on the host."""

    def _replicate(self) -> nn.Module:
        return self._loss_of
