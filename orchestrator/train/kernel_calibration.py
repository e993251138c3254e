"""What the ranks of a split network find out of each other in their set-up."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from orchestrator.core.kernel_share import KernelLink
from orchestrator.train.kernel_link import Message, echo, link_to_master
from orchestrator.train.kernel_probe import Probe, map_flops, maps_of, probe_of
from orchestrator.train.kernel_wire import MASTER, Wire
from orchestrator.train.split_networks import Place
from orchestrator.train.takes import LEAST_SECONDS

_PROBE_SECONDS = 1.0  # of all shapes, by their work in a step, where each has its least
_MOST_VALUES = 2**21  # of a message: 8 MiB, which 100 Mbit/s pass in 0.7 s


def probes_of(
    places: Sequence[Place],
    *,
    batch: int,
    dtype: torch.dtype,
    world_size: int,
    synchronize: Callable[[], None],
) -> list[Probe]:
    """A probe of each convolution, all ranks at once; equal ones share theirs."""
    work: dict[str, float] = defaultdict(float)
    for place in places:
        work[place.shape] += place.whole.out_channels * map_flops(place)
    whole = math.fsum(work.values())
    done: dict[str, Probe] = {}
    for place in places:
        if place.shape not in done:
            if world_size > 1:
                dist.barrier()
            done[place.shape] = probe_of(
                place,
                batch=batch,
                world_size=world_size,
                dtype=dtype,
                seconds=max(LEAST_SECONDS, _PROBE_SECONDS * work[place.shape] / whole),
                synchronize=synchronize,
            )
    return [done[place.shape] for place in places]


def largest_message(places: Sequence[Place], *, batch: int, world_size: int) -> Message:
    """The maps of an even share of the convolution that makes the most, of as many samples as may be sent."""
    sizes = [maps_of(place) for place in places]
    kernels, height, width = max(sizes, key=math.prod, default=(32, 128, 128))
    share = -(-kernels // world_size)
    samples = max(1, _MOST_VALUES // (share * height * width))
    return Message(samples=min(batch, samples), channels=share, height=height, width=width)


def link_of_rank(
    rank: int, wire: Wire, large: Message, *, synchronize: Callable[[], None]
) -> KernelLink | None:
    """To the master, of one rank after the other; None on the master itself.

    Args:
        large: what is sent to learn the bandwidth.
    """
    link = None
    for other in range(1, wire.world_size):
        dist.barrier()
        if rank == MASTER:
            echo(wire, other, large)
        elif rank == other:
            link = link_to_master(wire, large, synchronize=synchronize)
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
