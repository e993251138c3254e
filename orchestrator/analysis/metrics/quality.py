"""Qualities of the seeds of a setting -> what the quality may be, and whether another one is better. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from orchestrator.analysis.formatting import Number, spread
from orchestrator.analysis.metrics.student import Z_95, t_95
from orchestrator.core.interval import Spread, exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityInterval:
    """A mean over seeds and its 95% interval; its ends are infinite where nothing bounds it."""

    estimate: float
    low: float
    high: float

    @property
    def spread(self) -> Spread:
        """The estimate between its ends; without any where nothing bounds it."""
        if not math.isfinite(self.high - self.low):
            return exactly(self.estimate)
        return Spread(median=self.estimate, low=self.low, high=self.high)


def quality_interval(
    values: Sequence[float], *, metric: str, held_out_samples: int | None
) -> QualityInterval:
    """Compute the mean of the qualities of several seeds, and its 95% interval.

    Over seeds: mean ± t s / sqrt(seeds), Student's t with seeds - 1 degrees of freedom. One seed gives none.

    An accuracy is a share of the held-out samples, p of n. All seeds are evaluated on the same ones, so that
    seeds do not add to n. Wilson's interval of the mean is

        (p + z²/2n ± z sqrt(p (1 - p) / n + z²/4n²)) / (1 + z²/n),

    and on each side the distances of both intervals from the mean add up as the root of the sum of their
    squares. With one seed it is Wilson's alone, without the spread over seeds.

    Sources: Wilson 1927, "Probable inference, the law of succession, and statistical inference"; Newcombe
    1998, "Two-sided confidence intervals for the single proportion", method 3; Zou and Donner 2008,
    "Construction of confidence limits about effect measures", for the sum; Bouthillier et al. 2021,
    "Accounting for variance in machine learning benchmarks", for its two parts.

    Args:
        values: values of each seed, at least one.
        held_out_samples: number of samples behind every value; None if it was not counted.
    """
    mean = fmean(values)
    half = t_95(len(values) - 1) * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    # a share of samples: accuracy or top5_accuracy, and not in percent
    is_share = metric.endswith("accuracy") and all(0 <= value <= 1 for value in values)
    if held_out_samples is None or not is_share:
        width = math.inf if half is None else half
        return QualityInterval(estimate=mean, low=mean - width, high=mean + width)
    low, high = _wilson(mean, held_out_samples)
    below, above = (math.hypot(distance, half or 0.0) for distance in (mean - low, high - mean))
    return QualityInterval(estimate=mean, low=max(0.0, mean - below), high=min(1.0, mean + above))


def shown_better(one: QualityInterval, other: QualityInterval, *, higher_is_better: bool) -> bool:
    """Return whether the 95% interval of the difference lies on the better side of 0.

    The square of each of its distances from the difference is the sum of the squares of the ends that lie
    that way: Newcombe 1998, "Interval estimation for the difference between independent proportions", method
    10; of any intervals Zou and Donner 2008. It takes the two for independent. On the same held-out samples
    they err alike, so that it is too wide rather than too narrow.
    """
    better, worse = (one, other) if higher_is_better else (other, one)
    ahead = better.estimate - worse.estimate
    return ahead > math.hypot(better.estimate - better.low, worse.high - worse.estimate)


def quality_words(interval: QualityInterval) -> Number:
    """Show the estimate with its interval; alone where nothing bounds it."""
    return spread(interval.spread)


def _wilson(share: float, count: int) -> tuple[float, float]:
    squared = Z_95**2 / count
    half = Z_95 * math.sqrt(share * (1 - share) / count + squared / (4 * count))
    middle = share + squared / 2
    low, high = ((middle + side) / (1 + squared) for side in (-half, half))
    return min(low, share), max(
        high, share
    )  # where all or none were right an end is the share, but for rounding
