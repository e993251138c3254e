"""What one rank trained on of each batch that was dealt out over ranks of different speed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchShare:
    """Of one rank.

    Attributes:
        samples: of each global batch.
        of_samples: those that there are.
        probe_samples: of the probe, forward and backward through the trial's networks.
        probe_seconds: of one such probe, on all ranks at once.
    """

    samples: int
    of_samples: int
    probe_samples: int
    probe_seconds: float

    @property
    def samples_per_second(self) -> float:
        """The rank's speed, which shares are in proportion to if they are measured."""
        return self.probe_samples / self.probe_seconds
