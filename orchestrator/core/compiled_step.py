"""Time of a training step as the compiler of its device estimates it, and nothing that was run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledStep:
    """Parts of the time of one step, in seconds.

    Attributes:
        device_seconds: the compiler's cycles over the clock of the device.
        unpriced_seconds: operations to which the compiler gives no cycles: their bytes over the bandwidth of
            the memory.
        link_seconds: sums over the replicas: bytes over the links between chips.
        host_seconds: the trainer's work on the host, measured here; it overlaps with the device's. None: not
            known.
        compiler: its name and version.
    """

    device_seconds: float
    unpriced_seconds: float
    link_seconds: float
    host_seconds: float | None
    compiler: str

    @property
    def on_device_seconds(self) -> float:
        """Return the time of the device's part."""
        return self.device_seconds + self.unpriced_seconds + self.link_seconds

    @property
    def seconds(self) -> float:
        """Return the time of a step in the steady state: that of the slower of device and host."""
        return max(self.on_device_seconds, self.host_seconds or 0.0)

    @property
    def is_host_bound(self) -> bool:
        """Return whether the device waits for the host."""
        return self.seconds > self.on_device_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompiled:
    """Reason why no time of a step is known from a compiler."""

    reason: str


NOT_ASKED = NotCompiled(reason="compile=full asks the TPU's compiler, for about a minute each")
