"""Recurrent layers in PyTorch."""

from torch import Tensor, nn

from workloads.layers import Recurrent
from workloads.with_torch.weight import Weight


class BidirectionalCell(nn.Module):
    def __init__(self, layer: Recurrent, inputs: int) -> None:
        super().__init__()

    def weights(self) -> dict[str, Weight]:
        return {}

    def forward(self, sequence: Tensor) -> Tensor:
        return sequence
