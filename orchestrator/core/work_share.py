"""One rank's share of convolutions that were split over ranks of different speed, and the reason for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShare:
    """Share of one rank in one convolution.

    Attributes:
        layer: `<network>.<node index>`.
        kernels: number of kernels of the rank.
        of_kernels: number of all kernels of the convolution.
        probe_flops: floating-point operations of the probe of this layer's shape, forward and backward.
        probe_seconds: time of one probe, while all ranks run it.
    """

    layer: str
    kernels: int
    of_kernels: int
    probe_flops: float
    probe_seconds: float

    @property
    def flops_per_second(self) -> float:
        """The rank's speed in this layer, which shares are in proportion to if they are measured."""
        return self.probe_flops / self.probe_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLink:
    """Between the master and one other rank, measured in the set-up by messages as steps send them."""

    bytes_per_second: float
    latency_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelMove:
    """Kernels changed hands in the middle of a training, between two timed parts.

    Attributes:
        step: steps that were taken before.
        before, after: kernels that one rank held, in the order of its `kernel_shares`.
    """

    step: int
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchShare:
    """Share of one rank in every batch.

    Attributes:
        samples: samples of the rank in every global batch.
        of_samples: number of samples of a global batch.
        probe_samples: samples of the probe, a forward and backward pass of the trial's networks.
        probe_seconds: time of one probe, while all ranks run it.
    """

    samples: int
    of_samples: int
    probe_samples: int
    probe_seconds: float

    @property
    def samples_per_second(self) -> float:
        """The rank's speed, which shares are in proportion to if they are measured."""
        return self.probe_samples / self.probe_seconds
