"""Measurements that differ in one factor -> how much faster one is, and whether repeats show it. Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, variance

from orchestrator.analysis.measured import Measured
from orchestrator.analysis.setting import DETAILS, label_of, varying
from orchestrator.analysis.wording import Spread, counted

_FACTORS: Mapping[str, tuple[str, ...]] = {
    "trainer": ("trainer", "trainer_options", "trainer_version", "process_model", "versions", "variables"),
    "precision": ("precision",),
    "device": ("device", "host", "replicas", "process_model", "variables"),
    "workers": ("num_workers", "replicas", "variables"),
    "batch": ("global_batch_size",),
}
"""What may differ in two measurements that are compared by a factor; all else must be equal."""

_TOLD = ("device", "trainer", "precision", *DETAILS)

_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t, two-sided 95%, of 1 to 10 degrees of freedom (NIST/SEMATECH e-Handbook, table 1.3.6.7.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two measurements that differ in one factor.

    Attributes:
        where: what they have in common, as far as other measurements of the sweep differ in it.
        first, second: the sides in words; the first has the higher throughput.
        ratio: throughput of the first over that of the second with its 95% interval, `ratio_of`; where a
            side has one repeat, without an interval.
        verdict: `faster`, `no difference shown`, or why there is none.
        is_noisy: something else disturbed a repeat of either side.
    """

    factor: str
    where: str
    first: str
    second: str
    ratio: Spread
    verdict: str
    is_noisy: bool


def comparisons_of(measured: Sequence[Measured]) -> tuple[tuple[Comparison, ...], ...]:
    """For each set of measurements that differ in one factor alone: the fastest against each of the others.

    The next fastest comes first. A trainer that trains nothing is compared with nobody.
    """
    training = [each for each in measured if each.trains]
    told = ("workload", *varying([each.setting for each in training], _TOLD))
    return tuple(
        tuple(_comparison(factor, (fastest, other), told=told) for other in others)
        for factor in _FACTORS
        for fastest, *others in _groups(training, factor)
        if others
    )


def ratio_of(first: Sequence[float], second: Sequence[float]) -> Spread:
    """Geometric mean over geometric mean, and the 95% interval of that ratio if each side has two values.

    Welch's interval of the difference of mean logarithms, with as many degrees of freedom as the smaller side
    has (the conservative choice: it covers at least what it says for normal logarithms). It takes repeats for
    independent, and each comparison for the only one.
    """
    logs = [[math.log(each) for each in side] for side in (first, second)]
    difference = fmean(logs[0]) - fmean(logs[1])
    half = 0.0
    if min(map(len, logs)) > 1:
        freedom = min(min(map(len, logs)) - 1, len(_T_95))
        half = _T_95[freedom - 1] * math.sqrt(sum(variance(side) / len(side) for side in logs))
    middle, low, high = (math.exp(each) for each in (difference, difference - half, difference + half))
    return Spread(median=middle, low=low, high=high)


def _groups(measured: Sequence[Measured], factor: str) -> list[list[Measured]]:
    """Measurements that are alike in all but the factor, the fastest of each group first."""
    alike: dict[tuple[object, ...], list[Measured]] = defaultdict(list)
    for each in measured:
        facts = {**asdict(each.setting), "versions": each.versions, "variables": each.variables}
        key = tuple(facts[name] for name in facts if name not in (*_FACTORS[factor], "ran_with"))
        alike[key].append(each)
    return [sorted(group, key=lambda each: -fmean(map(math.log, each.rates))) for group in alike.values()]


def _comparison(factor: str, pair: tuple[Measured, Measured], *, told: Sequence[str]) -> Comparison:
    first, second = pair
    own = [name for name in (*_FACTORS[factor], "ran_with") if name in told or name == _FACTORS[factor][0]]
    ratio = ratio_of(first.rates, second.rates)
    return Comparison(
        factor=factor,
        where=label_of(first.setting, [name for name in told if name not in own]),
        first=label_of(first.setting, own),
        second=label_of(second.setting, own),
        ratio=ratio,
        verdict=_verdict_of(ratio, (first.num_repeats, second.num_repeats)),
        is_noisy=bool(first.num_noisy or second.num_noisy),
    )


def _verdict_of(ratio: Spread, num_repeats: tuple[int, int]) -> str:
    if max(num_repeats) == 1:
        return "one repeat each: no verdict"
    if min(num_repeats) == 1:
        return f"one repeat against {counted(max(num_repeats), 'repeat')}: no verdict"
    return "faster" if ratio.low > 1 else "no difference shown"
