"""The link between the master and another rank: round trips of feature maps, handled as steps handle them.

The master puts what arrives beside maps of its own, and cuts what it sends out of wider ones: within a host
that may take longer than the way.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.train.measurement.calibration import LEAST_SECONDS

_VALUE_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMessage:
    """Feature maps, in float32."""

    samples: int
    channels: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape in torch's order."""
        return self.samples, self.channels, self.height, self.width

    @property
    def bytes(self) -> int:
        """Bytes that travel."""
        return _VALUE_BYTES * self.samples * self.channels * self.height * self.width


_SMALL = LinkMessage(samples=1, channels=1, height=1, width=1)


def link_to_master(wire: RankChannel, large: LinkMessage, *, synchronize: Callable[[], None]) -> KernelLink:
    """Measure the link, on the rank that it belongs to, while the master echoes.

    The least of small messages: one that waits for a processor does not measure the link. The mean of large
    ones, as a step meets them: a rank that is paused now and then is late with them.
    """
    small, large_ones = (list(_one_way_seconds(wire, message, synchronize)) for message in (_SMALL, large))
    return fit_link(
        small_seconds=min(small), large_seconds=fmean(large_ones), more_bytes=large.bytes - _SMALL.bytes
    )


def echo(wire: RankChannel, rank: int, large: LinkMessage) -> None:
    """The master's end, for one rank."""
    for message in (_SMALL, large):
        own = _zeros(message, wire)
        while wire.receive(_flag(wire, is_on=False), rank).item():
            arrived = wire.expect_maps(message.shape, own.dtype, rank)()
            wire.send_maps(torch.cat([own, arrived], 1)[:, message.channels :], rank)
            wire.settle()


def fit_link(*, small_seconds: float, large_seconds: float, more_bytes: int) -> KernelLink:
    """Fit a link from one-way times of two messages; at least half of the large one's time is transfer."""
    transfer = max(large_seconds - small_seconds, large_seconds / 2)
    return KernelLink(bytes_per_second=more_bytes / transfer, latency_seconds=small_seconds)


def _one_way_seconds(
    wire: RankChannel, message: LinkMessage, synchronize: Callable[[], None]
) -> Iterator[float]:
    """Yield one-way seconds of repeated round trips while calls go on; the first one opens the connection."""
    maps = _zeros(message, wire)
    begin, trips = time.perf_counter(), 0
    while trips < 2 or time.perf_counter() - begin < LEAST_SECONDS:
        wire.send(_flag(wire, is_on=True), MASTER)
        start = time.perf_counter()
        wire.send_maps(maps, MASTER)
        wire.expect_maps(message.shape, maps.dtype, MASTER)()
        synchronize()
        seconds = (time.perf_counter() - start) / 2
        wire.settle()
        if trips:
            yield seconds
        trips += 1
    wire.send(_flag(wire, is_on=False), MASTER)
    wire.settle()


def _zeros(message: LinkMessage, wire: RankChannel) -> Tensor:
    return torch.zeros(message.shape, device=wire.device).to(memory_format=torch.channels_last)


def _flag(wire: RankChannel, *, is_on: bool) -> Tensor:
    """Exchange whether another message follows."""
    return torch.tensor([is_on], dtype=torch.int64, device=wire.device)
