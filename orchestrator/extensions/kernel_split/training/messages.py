"""Messages between the master of a split network, rank 0, and the ranks that convolve for it.

Point to point, for shares are uneven and gloo gathers only what is of one size. A tensor's shape goes before
it where the receiver cannot know it. Feature maps travel as they lie in memory: channels last.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from enum import IntEnum
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

MASTER = 0

_DTYPES = (torch.float32, torch.bfloat16, torch.float64)


class Op(IntEnum):
    """Operation that rank 0 requests."""

    FORWARD = 0
    BACKWARD = 1
    REST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvRequest:
    """Request of rank 0 to another rank, sent as integers.

    Attributes:
        layer: number of the convolution.
        call: number of its forward pass since the last rest; BACKWARD goes back through that one.
        wants_inputs, wants_weights: gradients that a BACKWARD will request.
        dtype, batch, channels, height, width: shape of the feature maps that follow.
    """

    verb: int
    layer: int = 0
    call: int = 0
    wants_inputs: bool = False
    wants_weights: bool = False
    dtype: int = 0
    batch: int = 0
    channels: int = 0
    height: int = 0
    width: int = 0


_ORDER_SIZE = len(ConvRequest.__slots__)


class RankChannel:
    """One rank's end.

    What is sent is kept until `settle`, so that a message is on its way while its sender computes. gloo knows
    the host's memory alone: where it joins accelerators with processors, messages go by way of that.
    """

    def __init__(self, device: torch.device, *, world_size: int) -> None:
        self.device = device
        self.world_size = world_size
        by_gloo = dist.is_initialized() and dist.get_backend() == "gloo"
        self._carrier = torch.device("cpu") if by_gloo else device
        self._sending: list[tuple[Any, Tensor]] = []

    def send(self, tensor: Tensor, rank: int) -> None:
        """Begin to send a tensor that lies in memory as it is indexed."""
        carried = tensor.to(self._carrier)
        self._sending.append((dist.isend(carried, rank), carried))

    def receive(self, like: Tensor, rank: int) -> Tensor:
        """Wait for a tensor, and put it into `like`."""
        carried = like.to(self._carrier)
        dist.recv(carried, rank)
        return like if carried is like else like.copy_(carried)

    def send_maps(self, maps: Tensor, rank: int) -> None:
        """Begin to send feature maps."""
        self.send(maps.permute(0, 2, 3, 1).contiguous(), rank)

    def expect_maps(self, shape: tuple[int, ...], dtype: torch.dtype, rank: int) -> Callable[[], Tensor]:
        """Let feature maps come in; the call waits for them."""
        batch, channels, height, width = shape
        maps = torch.empty(batch, height, width, channels, dtype=dtype, device=self._carrier)
        coming = dist.irecv(maps, rank)
        assert coming is not None

        def arrived() -> Tensor:
            coming.wait()
            return maps.to(self.device).permute(0, 3, 1, 2)

        return arrived

    def give(self, order: ConvRequest, maps: Tensor, rank: int) -> None:
        """Send an order with the feature maps that it is about."""
        batch, channels, height, width = maps.shape
        message = replace(
            order,
            dtype=_DTYPES.index(maps.dtype),
            batch=batch,
            channels=channels,
            height=height,
            width=width,
        )
        self.send(self._packed(message), rank)
        self.send_maps(maps, rank)

    def rest(self) -> None:
        """Send all ranks that the master asks no more of them."""
        for rank in range(1, self.world_size):
            self.send(self._packed(ConvRequest(verb=Op.REST)), rank)
        self.settle()

    def take(self) -> tuple[ConvRequest, Tensor | None]:
        """Wait for the master's next order, with its feature maps."""
        self.settle()
        numbers = self.receive(torch.empty(_ORDER_SIZE, dtype=torch.int64, device=self._carrier), MASTER)
        order = ConvRequest(**dict(zip(ConvRequest.__slots__, numbers.tolist(), strict=True)))
        if order.verb == Op.REST:
            return order, None
        shape = (order.batch, order.channels, order.height, order.width)
        return order, self.expect_maps(shape, _DTYPES[order.dtype], MASTER)()

    def settle(self) -> None:
        """Wait until all that was sent has left."""
        for sent, _ in self._sending:
            sent.wait()
        self._sending.clear()

    def _packed(self, order: ConvRequest) -> Tensor:
        return torch.tensor(astuple(order), dtype=torch.int64, device=self._carrier)
