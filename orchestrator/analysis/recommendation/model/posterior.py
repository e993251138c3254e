"""Joint normal beliefs about the logarithms of step times of one job's settings. Pure.

log(measured / estimate) is normal. It is the sum of two errors:

- the error of the hardware, with deviation d, the same at every batch size;
- the error of this network on that hardware, with deviation w. It correlates between two devices (r) and
  between batch sizes b and c that are l doublings apart:

    covariance = d d' [same hardware] + w w' (1 if same hardware else r) exp(-|log2(b / c)| / l)

Between two programs, as with and without shards, it is multiplied by `_OF_PROGRAMS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.estimate import ErrorCorrelation, StepPrior

FloatArray = NDArray[np.float64]

_OF_PROGRAMS = 0.95
"""Correlation of the errors of two programs of one step, an assumption: with a deviation of 0.35 to 0.5 their
ratio is known to 11 to 16%. Published pairs in float8 and bf16 lie within 12% of the predicted ratio."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianPosterior:
    """Normal logarithms of step seconds.

    Attributes:
        mean: [setting].
        covariance: [setting, setting].
    """

    mean: FloatArray
    covariance: FloatArray

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of every setting."""
        deviation: FloatArray = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return deviation

    def given(
        self, log_seconds: Mapping[int, float], *, deviation: float | Sequence[float]
    ) -> "GaussianPosterior":
        """Condition on measured settings.

        Args:
            log_seconds: setting -> measured logarithm of its step seconds.
            deviation: standard error of these logarithms: one for all, or one for each.
        """
        rows = list(log_seconds)
        noise = np.broadcast_to(np.square(deviation), len(rows))
        measured = self.covariance[np.ix_(rows, rows)] + np.diag(noise)
        weights = np.linalg.solve(measured, self.covariance[rows])
        surprise = np.array(list(log_seconds.values())) - self.mean[rows]
        return GaussianPosterior(
            mean=self.mean + surprise @ weights,
            covariance=self.covariance - self.covariance[:, rows] @ weights,
        )

    def draws(self, count: int, *, seed: int) -> FloatArray:
        """Draw [draw, setting] logarithms."""
        values, vectors = np.linalg.eigh(self.covariance)
        # The symmetric root: signs and order of eigenvectors differ between libraries, and it does not.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # rounding leaves values below 0
        normal = np.random.default_rng(seed).standard_normal((count, len(values)))
        drawn: FloatArray = self.mean + normal @ root.T
        return drawn


def compute_posterior(priors: Sequence[StepPrior], correlation: ErrorCorrelation) -> GaussianPosterior:
    """Join the priors of all settings of a job, before any of them was measured."""
    return GaussianPosterior(
        mean=np.array([prior.log_seconds for prior in priors]),
        covariance=covariance_between(priors, priors, correlation),
    )


def covariance_between(
    ones: Sequence[StepPrior], others: Sequence[StepPrior], correlation: ErrorCorrelation
) -> FloatArray:
    """Compute [one, other] the covariance of the errors of predicted settings."""
    numbers = {prior.hardware: index for index, prior in enumerate((*ones, *others))}
    hardware = [np.array([numbers[prior.hardware] for prior in some], dtype=int) for some in (ones, others)]
    is_same = np.equal.outer(*hardware)
    doublings = [np.log2([float(prior.batch_size) for prior in some]) for some in (ones, others)]
    near = np.exp(-np.abs(np.subtract.outer(*doublings)) / correlation.doublings)
    device = [np.array([prior.device for prior in some]) for some in (ones, others)]
    network = [np.array([prior.network for prior in some]) for some in (ones, others)]
    programs = [np.array([prior.program for prior in some], dtype=object) for some in (ones, others)]
    alike = np.where(np.equal.outer(*programs).astype(bool), 1.0, _OF_PROGRAMS)
    covariance: FloatArray = is_same * np.outer(*device) + np.where(
        is_same, 1.0, correlation.devices
    ) * near * np.outer(*network)
    return covariance * alike
