"""How fast this rank convolves: a probe of each shape of convolution, on all ranks at once.

That every device runs the same probe is known of Marques, Falcao, Alexandre 2018; its size is ours. It is an
even share of the convolution in a step, or the part of that which one take has time for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from orchestrator.train.split_networks import Place
from orchestrator.train.takes import mean_seconds_of

_MOST_FLOPS = 20e9  # of a take, unless one sample has more
_FEW_KERNELS = 32  # with fewer a processor that could do more at once is not busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of a probe."""

    samples: int
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a rank's probe of one convolution took.

    Attributes:
        dtype: that it was in.
        flops: of one take, forward and backward.
        seconds: of one take, the mean of many.
    """

    dtype: torch.dtype
    flops: float
    seconds: float


def size_of(flops: float, *, batch: int, kernels: int, groups: int) -> Size:
    """Of a take: fewer samples only where few kernels of all of them are too many; groups are not cut.

    Args:
        flops: of one kernel and sample.
        batch, kernels: of an even share.
    """
    few = kernels if groups > 1 else min(kernels, _FEW_KERNELS)
    samples = min(batch, max(1, int(_MOST_FLOPS / (few * flops))))
    return Size(samples=samples, kernels=min(kernels, max(few, int(_MOST_FLOPS / (samples * flops)))))


def map_flops(place: Place) -> float:
    """Of one kernel and sample in a step, forward and backward; nothing asks for gradients of samples."""
    passes = 2 if place.reads_samples else 3
    height, width = maps_of(place)[1:]
    return passes * 2 * height * width * place.whole.weight[0].numel()


def maps_of(place: Place) -> torch.Size:
    """The shape of a sample's maps: [kernel, height, width]."""
    height, width, channels = place.inputs
    features = torch.empty(1, channels, height, width, device="meta")
    return _maps(place, place.whole.weight.detach().to("meta"), features).shape[1:]


def probe_of(
    place: Place,
    *,
    batch: int,
    world_size: int,
    dtype: torch.dtype,
    seconds: float,
    synchronize: Callable[[], None],
) -> Probe:
    """Convolve as a step does, forward and backward, again and again.

    Args:
        seconds: as of `mean_seconds_of`.
    """
    whole, (height, width, channels) = place.whole, place.inputs
    share = -(-whole.out_channels // (world_size if whole.groups == 1 else 1))
    size = size_of(map_flops(place), batch=batch, kernels=share, groups=whole.groups)
    weight = whole.weight.detach()[: size.kernels].to(dtype).requires_grad_()
    shape = (size.samples, channels, height, width)
    own = torch.Generator(weight.device)  # dropout draws what it would without a probe
    features = torch.rand(shape, generator=own, device=weight.device)
    features = features.to(dtype, memory_format=torch.channels_last)
    features.requires_grad_(not place.reads_samples)

    def take() -> None:
        maps = _maps(place, weight, features)
        if features.requires_grad:
            torch.autograd.grad(maps, features, maps.detach(), retain_graph=True)
        torch.autograd.grad(maps, weight, maps.detach())

    flops = size.samples * size.kernels * map_flops(place)
    return Probe(dtype=weight.dtype, flops=flops, seconds=mean_seconds_of(take, synchronize, seconds=seconds))


def _maps(place: Place, weight: Tensor, features: Tensor) -> Tensor:
    whole = place.whole
    return conv2d(features, weight, None, whole.stride, whole.padding, whole.dilation, whole.groups)
