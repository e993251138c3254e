"""Data-parallel training with sharded weights, gradients and optimizer state, by PyTorch's FSDP2.

A block is gathered from all replicas before it computes and freed behind it. Gradients are reduced with
every micro batch, so that a replica never holds all of them.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_ddp_trainer import TorchDdpTrainer
from workloads.spec import WorkloadSpec


class TorchFsdpTrainer(TorchDdpTrainer):
    """`torch_ddp` with shards, for two replicas or more. Run on CPUs; never on GPUs.

    Checkpoints are those of `torch_ddp`: a training goes on with any number of replicas.
    """

    def prepare(self, workload: WorkloadSpec, job: WorkerJob) -> None:
        """Prepare as `torch_ddp`, and shard the networks block by block; they are on the host until then."""
        super().prepare(workload, job)
        for _, network in self._networks.named():
            shard(network, network.make_blocks(), self._device)

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Evaluate the whole set on each rank, block by block as in a step."""
        quality = super().evaluate(limit)
        for _, network in self._networks.named():
            reshard(network)
        return quality

    def _place_networks(self) -> None:
        """Leave the networks on the host."""

    def _replicate(self, losses: nn.Module) -> nn.Module:
        return losses


def shard(module: nn.Module, blocks: Sequence[nn.Module], device: torch.device) -> None:
    """Shard blocks, and as one more part the rest of a module, over all ranks.

    Parameters become other objects, of which each rank holds its part of the first axis.
    """
    assert dist.group.WORLD is not None, "several replicas have a group"
    mesh = DeviceMesh.from_group(dist.group.WORLD, device.type)
    for weight in module.parameters():
        weight.data = weight.data.contiguous()  # FSDP2 refuses channels_last
    in_blocks: set[nn.Parameter] = set()
    for block in blocks:
        fully_shard(block, mesh=mesh)
        in_blocks.update(block.parameters())
    fully_shard(module, mesh=mesh, ignored_params=in_blocks)
    for part in module.modules():
        if isinstance(part, FSDPModule):
            part.set_force_sum_reduction_for_comms(dist.get_backend() == "gloo")  # which has no mean


def reshard(module: nn.Module) -> None:
    """Free what a forward pass without a backward pass leaves gathered."""
    assert isinstance(module, FSDPModule), "it was sharded"
    module.reshard()
