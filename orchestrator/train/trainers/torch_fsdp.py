"""Data-parallel training with sharded weights, gradients and optimizer state, by PyTorch's FSDP2.

A block is gathered from all replicas before it computes and freed behind it. Gradients are reduced with
every micro batch, so that a replica never holds all of them. Nor does it hold all weights at the start: their
shards have memory before the weights are drawn or read, one after the other.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_ddp_trainer import TorchDdpTrainer
from workloads.initial import draw_weights
from workloads.spec import WorkloadSpec
from workloads.with_torch.module_shards import reshard, shard
from workloads.with_torch.network import load_arrays, named_weights
from workloads.with_torch.shards import GatheredArrays
from workloads.with_torch.training import Networks


class TorchFsdpTrainer(TorchDdpTrainer):
    """`torch_ddp` with shards, for two replicas or more. Run on CPUs; never on GPUs.

    Checkpoints are those of `torch_ddp`: a training goes on with any number of replicas.
    """

    def prepare(self, workload: WorkloadSpec, job: WorkerJob) -> None:
        """Prepare as `torch_ddp`, shard the networks block by block, and draw the weights of the shards."""
        super().prepare(workload, job)
        for _, network in self._networks.named():
            shard(network, network.make_blocks(), self._device, count=job.shards)
            load_arrays(network, draw_weights(network.spec, job.trial.seed))

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Evaluate the whole set on each rank, block by block as in a step."""
        quality = super().evaluate(limit)
        for _, network in self._networks.named():
            reshard(network)
        return quality

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name, each gathered when it is asked for."""
        named = [(name, named_weights(network)) for name, network in self._networks.named()]
        return GatheredArrays(
            {f"{name}.{key}": weight.array for name, weights in named for key, weight in weights.items()}
        )

    def _build_networks(self) -> Networks:
        return Networks(self._workload, None)

    def _replicate(self, losses: nn.Module) -> nn.Module:
        return losses
