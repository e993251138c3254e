"""What the ranks of a split network find out of each other in their set-up."""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from orchestrator.core.kernel_share import KernelLink
from orchestrator.train.kernel_link import echo, link_to_master
from orchestrator.train.kernel_probe import Probe, probe_of
from orchestrator.train.kernel_wire import MASTER, Wire
from orchestrator.train.split_networks import Place


def probes_of(
    places: Sequence[Place],
    *,
    batch: int,
    dtype: torch.dtype,
    world_size: int,
    synchronize: Callable[[], None],
) -> list[Probe]:
    """A probe of each convolution, all ranks at once; equal ones share theirs."""
    done: dict[str, Probe] = {}
    for place in places:
        if place.shape not in done:
            if world_size > 1:
                dist.barrier()
            done[place.shape] = probe_of(
                place.whole, place.inputs, batch=batch, dtype=dtype, synchronize=synchronize
            )
    return [done[place.shape] for place in places]


def link_of_rank(rank: int, wire: Wire, *, synchronize: Callable[[], None]) -> KernelLink | None:
    """To the master, of one rank after the other; None on the master itself."""
    link = None
    for other in range(1, wire.world_size):
        dist.barrier()
        if rank == MASTER:
            echo(wire, other)
        elif rank == other:
            link = link_to_master(wire, synchronize=synchronize)
    return link


def of_all_ranks(own: Sequence[float], wire: Wire) -> list[list[float]]:
    """Numbers of this rank -> [number][rank]."""
    numbers = torch.tensor(own, dtype=torch.float64, device=wire.device)
    found = [torch.empty_like(numbers) for _ in range(wire.world_size)]
    if wire.world_size > 1:
        dist.all_gather(found, numbers)
    else:
        found = [numbers]
    of_numbers: list[list[float]] = torch.stack(found, 1).tolist()
    return of_numbers
