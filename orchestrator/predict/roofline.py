"""(what a step asks for, a device) -> how long each of its units needs at least, at its maker's peaks.

Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model". It is a bound for
direct algorithms without fusion: Winograd's convolutions were seen to beat it (docs/prediction.md).
"""

from dataclasses import dataclass

from orchestrator.core.device import Device
from orchestrator.core.peaks import peaks_of
from orchestrator.predict.demand import Demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Seconds of one step; None where a peak is unknown.

    Attributes:
        compute_seconds: floating-point operations at the devices' peak in this precision.
        memory_seconds: traffic at the peak of the devices' memory.
        exchange_seconds: sum of the gradients over all replicas, each of which sends and receives
            2 (n - 1) / n of them (Patarasuk and Yuan 2009); 0 for one replica.
    """

    compute_seconds: float | None
    memory_seconds: float | None
    exchange_seconds: float | None

    @property
    def bound_seconds(self) -> float | None:
        """The longest of the three, for they may overlap; None if one is unknown."""
        parts = (self.compute_seconds, self.memory_seconds, self.exchange_seconds)
        known = [each for each in parts if each is not None]
        return max(known) if len(known) == len(parts) else None


def roofline_of(demand: Demand, device: Device, *, precision: str, count: int) -> Roofline:
    """Of `count` such devices that share a global batch; of a host's own processor nothing is published."""
    peaks = peaks_of(device, precision, count=count)
    replicas = count * device.replicas
    traffic = demand.value_bytes + demand.weight_bytes * replicas
    exchanged = 2 * (replicas - 1) / replicas * demand.gradient_bytes
    return Roofline(
        compute_seconds=_seconds(demand.flops, peaks.flops_per_second if peaks else None),
        memory_seconds=_seconds(traffic, peaks.memory_bytes_per_second if peaks else None),
        exchange_seconds=0.0 if replicas == 1 else _seconds(exchanged, device.link_bytes_per_second),
    )


def _seconds(amount: float, per_second: float | None) -> float | None:
    return None if per_second is None else amount / per_second
