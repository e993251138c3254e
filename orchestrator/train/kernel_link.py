"""The link between the master and another rank: round trips of feature maps, sent as steps send them."""

import time
from collections.abc import Callable

import torch

from orchestrator.core.kernel_share import KernelLink
from orchestrator.train.kernel_wire import MASTER, Wire

_SMALL = (1, 1, 1, 1)
_LARGE = (1, 32, 128, 128)
_ROUND_TRIPS = 5  # of each size, after one that opens the way
_BYTES = 4 * 32 * 128 * 128


def link_to_master(wire: Wire, *, synchronize: Callable[[], None]) -> KernelLink:
    """Measure it, on the rank that it belongs to, while the master echoes."""
    small, large = (_one_way_seconds(wire, shape, synchronize) for shape in (_SMALL, _LARGE))
    return link_of(small_seconds=small, large_seconds=large, more_bytes=_BYTES - 4)


def echo(wire: Wire, rank: int) -> None:
    """The master's end, for one rank."""
    for shape in (_SMALL, _LARGE):
        for _ in range(1 + _ROUND_TRIPS):
            wire.send_maps(wire.expect_maps(shape, torch.float32, rank)(), rank)
            wire.settle()


def link_of(*, small_seconds: float, large_seconds: float, more_bytes: int) -> KernelLink:
    """Of two messages one way. Of the large one at least half is not latency, whatever the small one met."""
    transfer = max(large_seconds - small_seconds, large_seconds / 2)
    return KernelLink(bytes_per_second=more_bytes / transfer, latency_seconds=small_seconds)


def _one_way_seconds(wire: Wire, shape: tuple[int, ...], synchronize: Callable[[], None]) -> float:
    """The least of several: a message that waits for a processor says nothing of the link."""
    maps = torch.zeros(shape, device=wire.device).to(memory_format=torch.channels_last)
    seconds = []
    for _ in range(1 + _ROUND_TRIPS):
        start = time.perf_counter()
        wire.send_maps(maps, MASTER)
        wire.expect_maps(shape, maps.dtype, MASTER)()
        synchronize()
        seconds.append((time.perf_counter() - start) / 2)
        wire.settle()
    return min(seconds[1:])
