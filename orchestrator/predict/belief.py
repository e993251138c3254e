"""What is thought of all settings of one job together: a measurement of one moves the others. Pure.

log(measured / estimate) is normal: what a device does to every network, of deviation d and the same at every
batch size, plus what is left of this network there, of deviation w. A network errs alike on two devices (r)
and at batch sizes b and c that are close (l doublings):

    covariance = d d' [same hardware] + w w' (1 if same hardware else r) exp(-|log2(b / c)| / l)
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.predict.pairs import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinship:
    """How alike a network errs in several settings, in published measurements.

    Attributes:
        devices: correlation of its errors on two devices at one batch size.
        doublings: of the batch size after which that on one device has fallen to 1/e.
    """

    devices: float
    doublings: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What is thought of one setting before its job was measured anywhere.

    Attributes:
        hardware: equal for settings that differ in the batch size alone.
        log_seconds: of a step, as it is estimated.
        device, network: deviations of the logarithm.
    """

    hardware: Hashable
    batch_size: int
    log_seconds: float
    device: float
    network: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """Normal logarithms of the seconds of a step.

    Attributes:
        mean: [setting].
        covariance: [setting, setting].
    """

    mean: Floats
    covariance: Floats

    @property
    def deviation(self) -> Floats:
        """[setting]."""
        found: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found

    def given(self, log_seconds: Mapping[int, float], *, deviation: float | Sequence[float]) -> "Belief":
        """After some settings were measured.

        Args:
            deviation: of what was measured, from what it would be after many repeats: of each, or of all.
        """
        rows = list(log_seconds)
        noise = np.broadcast_to(np.square(deviation), len(rows))
        known = self.covariance[np.ix_(rows, rows)] + np.diag(noise)
        weights = np.linalg.solve(known, self.covariance[rows])
        surprise = np.array(list(log_seconds.values())) - self.mean[rows]
        return Belief(
            mean=self.mean + surprise @ weights,
            covariance=self.covariance - self.covariance[:, rows] @ weights,
        )

    def draws(self, count: int, *, seed: int) -> Floats:
        """[draw, setting]."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))  # rounding leaves values just below 0
        normal = np.random.default_rng(seed).standard_normal((count, len(values)))
        found: Floats = self.mean + normal @ root.T
        return found


def belief_of(thoughts: Sequence[Thought], kinship: Kinship) -> Belief:
    """Of all settings of a job, before any of them was measured."""
    numbers = {each: index for index, each in enumerate(dict.fromkeys(each.hardware for each in thoughts))}
    hardware = np.array([numbers[each.hardware] for each in thoughts])
    is_same = np.equal.outer(hardware, hardware)
    doublings = np.log2([each.batch_size for each in thoughts])
    near = np.exp(-np.abs(np.subtract.outer(doublings, doublings)) / kinship.doublings)
    device = np.array([each.device for each in thoughts])
    network = np.array([each.network for each in thoughts])
    return Belief(
        mean=np.array([each.log_seconds for each in thoughts]),
        covariance=is_same * np.outer(device, device)
        + np.where(is_same, 1.0, kinship.devices) * near * np.outer(network, network),
    )
