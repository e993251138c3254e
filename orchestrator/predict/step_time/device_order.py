"""Order of devices: one with higher peaks in everything does no work slower. Pure.

The exchange between devices is no part of it: it is added to the step afterwards.

Published steps of few networks by few laboratories may say otherwise, mostly of a device that nobody
measured: its estimate knows less than that of a weaker one that somebody did. So the work of a device
takes no longer than that of any device that is at most as strong.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Device in one precision, with what it is predicted to need for the work of one step.

    Attributes:
        replicas: data-parallel replicas of one device.
        value_bytes: size of one value of a feature map in that precision.
        seconds: predicted for the work of the device alone.
    """

    flops_per_second: float
    memory_bytes_per_second: float
    replicas: int
    value_bytes: int
    seconds: float

    def is_as_strong_as(self, other: "Contender") -> bool:
        """Return whether it is at least as strong in everything."""
        return (
            self.flops_per_second >= other.flops_per_second
            and self.memory_bytes_per_second >= other.memory_bytes_per_second
            and self.replicas <= other.replicas
            and self.value_bytes <= other.value_bytes
        )


def ordered_seconds(asked: Contender, others: Iterable[Contender]) -> float:
    """Return the seconds of the fastest device that is at most as strong as the asked one, or of itself."""
    weaker = (other.seconds for other in others if asked.is_as_strong_as(other))
    return min(asked.seconds, min(weaker, default=asked.seconds))
