"""Length of a workload's full training."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTraining:
    """The full training of a workload, as workload and data set declare it; a trial may be a part of it.

    Attributes:
        epochs: passes over the full training set; None where the workload declares none.
        train_samples: samples of the full training set; None if the data set declares none.
    """

    epochs: float | None
    train_samples: int | None
