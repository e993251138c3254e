"""Peak performance of a trial's devices: published, or calibrated by the trial itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Peaks of all devices of a trial together; None where one is unknown.

    Attributes:
        flops_per_second: dense, in the trial's precision.
        memory_bytes_per_second: bandwidth of the devices' own memory.
        tdp_watts: the most that they draw for long, their hosts left out.
        source: source of the figures.
    """

    flops_per_second: float | None
    memory_bytes_per_second: float | None
    tdp_watts: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductBenchmark:
    """Products of square matrices in a trial's own processes, precision and threads, after all else.

    Attributes:
        size: rows of a matrix; a product takes 2 size**3 floating-point operations.
        seconds: [rank][product], at least one; all ranks begin each product together.
    """

    size: int
    seconds: tuple[tuple[float, ...], ...]

    @property
    def flops_per_second(self) -> float:
        """FLOP/s of all ranks together in the fastest product, computed from its slowest rank."""
        fastest: float = min(max(ranks) for ranks in zip(*self.seconds, strict=True))
        return len(self.seconds) * 2 * self.size**3 / fastest

    @property
    def source(self) -> str:
        """Source of the figure, in words that distinguish it from a published one."""
        processes = "this process" if len(self.seconds) == 1 else f"{len(self.seconds)} processes at once"
        products = f"{len(self.seconds[0])} products of {self.size} x {self.size}"
        return f"calibrated: fastest of {products}, {processes}"


def find_peaks(device: Device, precision: str, *, count: int) -> Peaks | None:
    """The published figures of `count` such devices; None for a host's own processor, which has none."""
    if device.kind == "cpu":
        return None
    return Peaks(
        flops_per_second=_times(count, device.peak_flops_per_second.get(precision)),
        memory_bytes_per_second=_times(count, device.memory_bytes_per_second),
        tdp_watts=_times(count, device.tdp_watts),
        source=device.source,
    )


def peaks_together(parts: Sequence[Peaks | None]) -> Peaks | None:
    """Add the peaks of heterogeneous devices; return None where one of them has none."""
    given = [part for part in parts if part is not None]
    if len(given) < len(parts):
        return None
    return Peaks(
        flops_per_second=_sum_parts([part.flops_per_second for part in given]),
        memory_bytes_per_second=_sum_parts([part.memory_bytes_per_second for part in given]),
        tdp_watts=_sum_parts([part.tdp_watts for part in given]),
        source="; ".join(dict.fromkeys(part.source for part in given)),
    )


def _sum_parts(figures: Sequence[float | None]) -> float | None:
    given = [figure for figure in figures if figure is not None]
    return sum(given) if len(given) == len(figures) else None


def _times(count: int, figure: float | None) -> float | None:
    return None if figure is None else count * figure
