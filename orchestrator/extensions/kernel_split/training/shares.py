"""(kernels, speeds) -> which kernels of a convolution each rank holds. Pure.

After Marques, Falcao, Alexandre 2018, "Distributed learning of CNNs on heterogeneous CPU/GPU architectures":
a convolution is divided by its output kernels, in proportion to what a calibration measured. Only the
abstract is known; largest remainders, and groups that stay whole, are ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRange:
    """Kernel range of a convolution that one rank holds.

    Attributes:
        kernels: a run of its output channels; empty: the rank has no share in it.
        channels: the run of input channels that they read.
        groups: number of channel groups of the convolution.
    """

    kernels: range
    channels: range
    groups: int


def divide_shares(count: int, speeds: Sequence[float]) -> tuple[int, ...]:
    """Divide `count` in proportion to speed by the largest remainder; of equal ones the first rank's.

    A rank that is slow beside the others may get nothing.
    """
    total = math.fsum(speeds)
    exact = [count * speed / total for speed in speeds]
    shares = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda rank: shares[rank] - exact[rank])
    for rank in by_remainder[: count - sum(shares)]:
        shares[rank] += 1
    return tuple(shares)


def find_parts(
    kernels: int, *, channels: int, groups: int, speeds: Sequence[float]
) -> tuple[KernelRange, ...]:
    """The part of each rank of a convolution; several groups are shared out whole, each with its kernels."""
    units = kernels if groups == 1 else groups
    shares = divide_shares(units, speeds)
    runs = [range(end - share, end) for share, end in zip(shares, accumulate(shares), strict=True)]
    return tuple(
        KernelRange(
            kernels=_scaled(run, kernels // units),
            channels=range(channels) if groups == 1 else _scaled(run, channels // groups),
            groups=1 if groups == 1 else len(run),
        )
        for run in runs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTransfer:
    """A run of kernels on its way from the rank that held it to the one that will; they may be one."""

    source: int
    target: int
    kernels: range


def transfers_between(
    before: Sequence[KernelRange], after: Sequence[KernelRange]
) -> Iterator[KernelTransfer]:
    """[rank] each -> what goes where, in the order of the kernels."""
    for source, held in enumerate(before):
        for target, wanted in enumerate(after):
            start = max(held.kernels.start, wanted.kernels.start)
            kernels = range(start, max(start, min(held.kernels.stop, wanted.kernels.stop)))
            if kernels:
                yield KernelTransfer(source=source, target=target, kernels=kernels)


def _scaled(run: range, factor: int) -> range:
    return range(run.start * factor, run.stop * factor)
