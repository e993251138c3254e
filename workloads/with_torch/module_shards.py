"""Modules of which every replica holds its shard, by PyTorch's FSDP2."""

from collections.abc import Iterable, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard


def shard(module: nn.Module, blocks: Sequence[nn.Module], device: torch.device, *, count: int) -> None:
    """Shard blocks, and as one more part the rest of a module, over all ranks.

    Parameters become other objects, of which each rank holds its part of the first axis. Those without data
    get memory on the device, and no values.

    Args:
        count: consecutive ranks that hold all weights together, and average their gradients with others.
    """
    assert dist.group.WORLD is not None, "several replicas have a group"
    if count == dist.get_world_size():
        mesh = DeviceMesh.from_group(dist.group.WORLD, device.type)
    else:
        sizes = dist.get_world_size() // count, count
        mesh = init_device_mesh(device.type, sizes, mesh_dim_names=("replicate", "shard"))
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

    def place(tensor: Tensor) -> Tensor:
        return torch.empty_like(tensor, device=device) if tensor.is_meta else tensor.to(device)

    module._apply(place)  # type: ignore[no-untyped-call]  # torch's own


def reshard(module: nn.Module) -> None:
    """Free what a forward pass without a backward pass leaves gathered."""
    assert isinstance(module, FSDPModule), "it was sharded"
    module.reshard()


def replace_weights(
    optimizers: Iterable[torch.optim.Optimizer], shards: Mapping[nn.Parameter, nn.Parameter]
) -> None:
    """Put shards in the place of the weights of optimizers that have taken no step."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["params"] = [shards.get(weight, weight) for weight in group["params"]]
