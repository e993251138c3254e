"""How fast this rank convolves: a small probe of each shape of convolution, on all ranks at once.

That every device runs the same probe is known of Marques, Falcao, Alexandre 2018; its size is ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from orchestrator.train.takes import mean_seconds_of
from workloads.layers import Shape

_MOST_SAMPLES = 8
_MOST_KERNELS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a rank's probe of one convolution took.

    Attributes:
        dtype: of the maps that it made.
        flops: of one take, forward and backward.
        seconds: of one take, the mean of many.
    """

    dtype: torch.dtype
    flops: float
    seconds: float


def probe_of(
    whole: nn.Conv2d, inputs: Shape, *, batch: int, dtype: torch.dtype, synchronize: Callable[[], None]
) -> Probe:
    """Convolve as `whole` does, with few kernels and samples, forward and backward, again and again.

    Args:
        inputs: [height, width, channel].
    """
    height, width, channels = inputs
    weight = whole.weight.detach()[: _MOST_KERNELS if whole.groups == 1 else None].to(dtype)
    weight.requires_grad_()
    shape = (min(batch, _MOST_SAMPLES), channels, height, width)
    features = torch.rand(shape, device=weight.device).to(dtype, memory_format=torch.channels_last)
    features.requires_grad_()
    maps = _take(whole, weight, features)
    seconds = mean_seconds_of(partial(_take, whole, weight, features), synchronize)
    return Probe(dtype=maps.dtype, flops=3 * 2 * maps.numel() * weight[0].numel(), seconds=seconds)


def _take(whole: nn.Conv2d, weight: Tensor, features: Tensor) -> Tensor:
    maps = torch.nn.functional.conv2d(
        features, weight, None, whole.stride, whole.padding, whole.dilation, whole.groups
    )
    torch.autograd.grad(maps, (features, weight), maps.detach())
    return maps.detach()
