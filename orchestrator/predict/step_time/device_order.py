"""Order of devices: one with higher peaks in everything does no work slower. Pure.

The exchange between devices is no part of it: it is added to the step afterwards.

Published steps of few networks by few laboratories may contradict that, mostly for a device without
measurements: its estimate has less data than that of a weaker, measured one. So the work of a device
takes no longer than that of any device that is at most as strong. Its host is no older either: its work takes
no longer than that of a host of a device that is at most as strong, in the same precision.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Device in one precision, with what it is predicted to need for the work of one step.

    Attributes:
        replicas: data-parallel replicas of one device.
        value_bytes: size of one value of a feature map in that precision.
        device_seconds, host_seconds: predicted for the work of the device alone, and of its host.
    """

    precision: str
    flops_per_second: float
    memory_bytes_per_second: float
    replicas: int
    value_bytes: int
    device_seconds: float
    host_seconds: float

    def is_as_strong_as(self, other: "Contender") -> bool:
        """Return whether it is at least as strong in everything."""
        return (
            self.flops_per_second >= other.flops_per_second
            and self.memory_bytes_per_second >= other.memory_bytes_per_second
            and self.replicas <= other.replicas
            and self.value_bytes <= other.value_bytes
        )


def ordered_seconds(asked: Contender, others: Iterable[Contender]) -> Contender:
    """Return the asked device with the shortest seconds of those that are at most as strong, or its own."""
    weaker = [other for other in others if asked.is_as_strong_as(other)]
    hosts = (other.host_seconds for other in weaker if other.precision == asked.precision)
    return replace(
        asked,
        device_seconds=min((asked.device_seconds, *(other.device_seconds for other in weaker))),
        host_seconds=min((asked.host_seconds, *hosts)),
    )
