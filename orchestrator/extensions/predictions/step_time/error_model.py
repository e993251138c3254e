"""Error model of log(measured / sum of parts), before and after own measurements. Pure.

log(measured / sum of parts) is what a device and its software do to every workload, of deviation d, plus
what is left of each workload, of deviation w, both normal. After n workloads with mean r, the next one has
mean k r and variance w^2 (1 + k / n), with k = n d^2 / (n d^2 + w^2); w pools the prior's with their own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPrior:
    """Deviations of logarithms, in published measurements.

    Attributes:
        device: deviation between devices, every device held out.
        workload: deviation between workloads on one device, every model held out.
        repeat: deviation between repeats of one trial.
        freedom: degrees of freedom of `workload` when it is pooled with own workloads.
        quantile: deviations to both sides that held 90% of other models on a device held out, of which one
            workload had been measured.
    """

    device: float
    workload: float
    repeat: float
    freedom: int
    quantile: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRatioPosterior:
    """Posterior of the logarithm of the next measurement over its sum of parts.

    Attributes:
        of_mean, of_one: deviations of the mean itself, and of one measurement from it.
    """

    mean: float
    of_mean: float
    of_one: float

    @property
    def deviation(self) -> float:
        """Standard deviation of the next measurement from the mean."""
        return math.hypot(self.of_mean, self.of_one)


def learned_from(logs: Sequence[float], *, device: float, workload: float, freedom: int) -> LogRatioPosterior:
    """Fit the posterior to one value per workload, at least one.

    Args:
        device, workload: deviations; the first is infinite if there are no data on such devices.
        freedom: degrees of freedom of the second deviation.
    """
    count, mean = len(logs), fmean(logs)
    squares = math.fsum((log - mean) ** 2 for log in logs)
    variance = (freedom * workload**2 + squares) / (freedom + count - 1)
    weight = 1.0 if math.isinf(device) else count * device**2 / (count * device**2 + variance)
    return LogRatioPosterior(
        mean=weight * mean, of_mean=math.sqrt(variance * weight / count), of_one=math.sqrt(variance)
    )
