"""Set-up measurements among the ranks of a split network: speeds and links."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import conv2d

from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.training.link import LinkMessage, echo, link_to_master
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.extensions.kernel_split.training.networks import ConvLayer
from orchestrator.train.measurement.calibration import LEAST_SECONDS, mean_seconds

_MOST_FLOPS = 20e9  # of a take, unless one sample has more
_FEW_KERNELS = 32  # with fewer a processor that could do more at once is not busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a probe."""

    samples: int
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedProbe:
    """Duration of a rank's probe of one convolution.

    Attributes:
        dtype: type of the probe.
        flops: operations of one take, forward and backward.
        seconds: time of one take, the mean of many.
    """

    dtype: torch.dtype
    flops: float
    seconds: float


def choose_size(flops: float, *, batch: int, kernels: int, groups: int) -> Size:
    """Return the size of a timed call; fewer samples only where few kernels are too many; groups are never
    cut.

    Args:
        flops: operations of one kernel and sample.
        batch, kernels: size of an even share.
    """
    few = kernels if groups > 1 else min(kernels, _FEW_KERNELS)
    samples = min(batch, max(1, int(_MOST_FLOPS / (few * flops))))
    return Size(samples=samples, kernels=min(kernels, max(few, int(_MOST_FLOPS / (samples * flops)))))


def map_flops(place: ConvLayer) -> float:
    """Return the FLOPs of one kernel and sample in a step, forward and backward, without gradients of
    samples.
    """
    passes = 2 if place.reads_samples else 3
    height, width = find_maps(place)[1:]
    return passes * 2 * height * width * place.whole.weight[0].numel()


def find_maps(place: ConvLayer) -> torch.Size:
    """The shape of a sample's maps: [kernel, height, width]."""
    height, width, channels = place.inputs
    features = torch.empty(1, channels, height, width, device="meta")
    return _maps(place, place.whole.weight.detach().to("meta"), features).shape[1:]


def build_probe(
    place: ConvLayer,
    *,
    batch: int,
    world_size: int,
    dtype: torch.dtype,
    seconds: float,
    synchronize: Callable[[], None],
) -> SpeedProbe:
    """Convolve as a step does, forward and backward, again and again.

    Args:
        seconds: as for `mean_seconds`.
    """
    whole, (height, width, channels) = place.whole, place.inputs
    share = -(-whole.out_channels // (world_size if whole.groups == 1 else 1))
    size = choose_size(map_flops(place), batch=batch, kernels=share, groups=whole.groups)
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
    return SpeedProbe(
        dtype=weight.dtype, flops=flops, seconds=mean_seconds(take, synchronize, seconds=seconds)
    )


def _maps(place: ConvLayer, weight: Tensor, features: Tensor) -> Tensor:
    whole = place.whole
    return conv2d(features, weight, None, whole.stride, whole.padding, whole.dilation, whole.groups)


_PROBE_SECONDS = 1.0  # of all shapes, by their work in a step, where each has its least
_MOST_VALUES = 2**21  # of a message: 8 MiB, which 100 Mbit/s pass in 0.7 s


def find_probes(
    places: Sequence[ConvLayer],
    *,
    batch: int,
    dtype: torch.dtype,
    world_size: int,
    synchronize: Callable[[], None],
) -> list[SpeedProbe]:
    """A probe of each convolution, all ranks at once; equal ones share theirs."""
    work: dict[str, float] = defaultdict(float)
    for place in places:
        work[place.shape] += place.whole.out_channels * map_flops(place)
    whole = math.fsum(work.values())
    done: dict[str, SpeedProbe] = {}
    for place in places:
        if place.shape not in done:
            if world_size > 1:
                dist.barrier()
            done[place.shape] = build_probe(
                place,
                batch=batch,
                world_size=world_size,
                dtype=dtype,
                seconds=max(LEAST_SECONDS, _PROBE_SECONDS * work[place.shape] / whole),
                synchronize=synchronize,
            )
    return [done[place.shape] for place in places]


def largest_message(places: Sequence[ConvLayer], *, batch: int, world_size: int) -> LinkMessage:
    """The maps of an even share of the convolution that makes the most, of as many samples as may be sent."""
    sizes = [find_maps(place) for place in places]
    kernels, height, width = max(sizes, key=math.prod, default=(32, 128, 128))
    share = -(-kernels // world_size)
    samples = max(1, _MOST_VALUES // (share * height * width))
    return LinkMessage(samples=min(batch, samples), channels=share, height=height, width=width)


def link_of_rank(
    rank: int, wire: RankChannel, large: LinkMessage, *, synchronize: Callable[[], None]
) -> KernelLink | None:
    """Measure the link of every rank to rank 0, one rank after the other; None on rank 0 itself.

    Args:
        large: message that measures the bandwidth.
    """
    link = None
    for other in range(1, wire.world_size):
        dist.barrier()
        if rank == MASTER:
            echo(wire, other, large)
        elif rank == other:
            link = link_to_master(wire, large, synchronize=synchronize)
    return link


def of_all_ranks(own: Sequence[float], wire: RankChannel) -> list[list[float]]:
    """Numbers of this rank -> [number][rank]."""
    numbers = torch.tensor(own, dtype=torch.float64, device=wire.device)
    gathered = [torch.empty_like(numbers) for _ in range(wire.world_size)]
    if wire.world_size > 1:
        dist.all_gather(gathered, numbers)
    else:
        gathered = [numbers]
    of_numbers: list[list[float]] = torch.stack(gathered, 1).tolist()
    return of_numbers
