"""Measurements that differ in one factor -> how much faster one is, and whether repeats show it. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from orchestrator.analysis.comparison.factors import Factor, alike, differ, find_factors, same_host
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import DETAILS, format_label, varying
from orchestrator.analysis.metrics.student import t_95
from orchestrator.core.interval import Spread

Verdict = Literal["faster", "slower", "no difference shown", "too few repeats"]

LEAST_REPEATS = 5
"""Least runs of each side for a verdict: with fewer the interval is too wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two measurements that differ in one factor.

    Attributes:
        where: settings that they have in common, if other measurements of the sweep differ in them.
        first, second: the sides in words.
        ratio: throughput of the first over that of the second with its 95% interval, `compute_ratio`; where a
            side has one repeat, without an interval.
        verdict: verdict of the first.
        is_noisy: something else disturbed a repeat of either side.
        is_resumed: a repeat of either side went on from a checkpoint.
    """

    factor: str
    where: str
    first: str
    second: str
    ratio: Spread
    verdict: Verdict
    is_noisy: bool
    is_resumed: bool


def compare_fastest(measured: Sequence[Measurement]) -> tuple[tuple[Comparison, ...], ...]:
    """Compare the fastest with each of the others, in every set of measurements that differ in one factor
    alone.

    The next fastest comes first. A trainer that trains nothing is in no comparison.
    """
    training = [measurement for measurement in measured if measurement.trains]
    distinct = distinguishing_fields(training)
    groups: dict[tuple[Comparison, ...], None] = {}  # trainers without options meet in several sets
    for factor in find_factors(training):
        for group in alike(training, factor):
            fastest, *others = sorted(group, key=lambda member: -fmean(map(math.log, member.deciding_rates)))
            pairs = [
                (fastest, other)
                for other in others
                if differ(fastest, other, factor) and same_host(fastest, other)
            ]
            compared = tuple(build_comparison((factor,), pair, distinct=distinct) for pair in pairs)
            if compared:
                groups[compared] = None
    return tuple(groups)


def distinguishing_fields(measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Fields that are worth a word beside these measurements: the workload, and in what they differ."""
    settings = [measurement.setting for measurement in measured]
    varied = varying(settings, ("device", "trainer", "precision", *DETAILS))
    one_host = (
        len({setting.host for setting in settings if setting.host}) < 2
    )  # of the CPU; other devices have none
    return ("workload", *(name for name in varied if not (one_host and name == "host")))


def build_comparison(
    factors: Sequence[Factor], pair: tuple[Measurement, Measurement], *, distinct: Sequence[str]
) -> Comparison:
    """Compare the first of a pair with the second.

    Args:
        factors: factors that they may differ in.
        told: fields of a setting that are worth a word.
    """
    first, second = pair
    labels = list(dict.fromkeys(label for factor in factors for label in factor.labels))
    own = [name for name in (*labels, "ran_with") if name in distinct or name == labels[0]]
    apart = {name for factor in factors for name in (factor.field, *factor.follows)}
    ratio = compute_ratio(first.deciding_rates, second.deciding_rates)
    return Comparison(
        factor=", ".join(factor.name for factor in factors),
        where=format_label(
            first.setting, [name for name in distinct if name not in own and name not in apart]
        ),
        first=format_label(first.setting, own),
        second=format_label(second.setting, own),
        ratio=ratio,
        verdict=verdict_on(ratio, num_repeats=min(first.num_deciding, second.num_deciding)),
        is_noisy=bool(first.num_noisy or second.num_noisy),
        is_resumed=bool(first.num_resumed or second.num_resumed),
    )


def compute_ratio(first: Sequence[float], second: Sequence[float]) -> Spread:
    """Geometric mean over geometric mean, and the 95% interval of that ratio if each side has two values.

    Welch's interval of the difference of mean logarithms, with Satterthwaite's degrees of freedom rounded
    down. It takes repeats for independent, and each comparison for the only one.
    """
    logs = [[math.log(rate) for rate in side] for side in (first, second)]
    difference = fmean(logs[0]) - fmean(logs[1])
    half = 0.0
    if min(map(len, logs)) > 1:
        errors = [_variance(side) / len(side) for side in logs]
        half = t_95(_compute_degrees_of_freedom(errors, [len(side) for side in logs])) * math.sqrt(
            sum(errors)
        )
    middle, low, high = (math.exp(bound) for bound in (difference, difference - half, difference + half))
    return Spread(median=middle, low=low, high=high)


def verdict_on(ratio: Spread, *, num_repeats: int) -> Verdict:
    """Return the verdict that a ratio's interval gives on its first side; none with too few repeats."""
    if num_repeats < LEAST_REPEATS:
        return "too few repeats"
    if ratio.low > 1:
        return "faster"
    return "slower" if ratio.high < 1 else "no difference shown"


def _compute_degrees_of_freedom(errors: Sequence[float], sizes: Sequence[int]) -> int:
    """Welch-Satterthwaite: of two squared standard errors of means, of that many values each."""
    parts = sum(error**2 / (size - 1) for error, size in zip(errors, sizes, strict=True))
    least = min(sizes) - 1
    return max(least, math.floor(sum(errors) ** 2 / parts)) if parts > 0 else least


def _variance(values: Sequence[float]) -> float:
    """Sample variance in floats; `statistics.variance` computes in fractions, which is too slow for thousands
    of pairs.
    """
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
