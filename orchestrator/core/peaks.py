"""What the devices of a trial could do at most, as it was known when the trial ran."""

from dataclasses import dataclass

from orchestrator.core.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Of all devices of a trial together; None where it is unknown.

    Attributes:
        flops_per_second: dense, in the trial's precision.
        memory_bytes_per_second: of the devices' own memory.
        tdp_watts: the most that they draw for long, their hosts left out.
        source: where the figures come from.
    """

    flops_per_second: float | None
    memory_bytes_per_second: float | None
    tdp_watts: float | None
    source: str


def peaks_of(device: Device, precision: str, *, count: int) -> Peaks | None:
    """The published figures of `count` such devices; None for a host's own processor, which has none."""
    if device.kind == "cpu":
        return None
    return Peaks(
        flops_per_second=_times(count, device.peak_flops_per_second.get(precision)),
        memory_bytes_per_second=_times(count, device.memory_bytes_per_second),
        tdp_watts=_times(count, device.tdp_watts),
        source=device.source,
    )


def _times(count: int, figure: float | None) -> float | None:
    return None if figure is None else count * figure
