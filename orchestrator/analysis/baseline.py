"""Every setting against the baseline that the sweep names. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.compare import Comparison, comparison_of, told_of
from orchestrator.analysis.factors import alike, factors_named, same_host
from orchestrator.analysis.measured import Measured
from orchestrator.core.placement import Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstBaseline:
    """What was measured, against the baseline.

    Attributes:
        compared: every setting over its baseline, those with the same baseline together, the fastest first.
        num_without: settings whose baseline was not measured.
    """

    compared: tuple[Comparison, ...] = ()
    num_without: int = 0


def against_baseline(measured: Sequence[Measured], baseline: Baseline | None) -> AgainstBaseline:
    """Compare every setting with the one that has the baseline's values and is like it in all else.

    `{device: cpu, precision: fp32}` is, for a trial of TensorFlow with two workers in bf16 on a T4, the
    trial of TensorFlow with two workers in fp32 on the CPU.
    """
    factors = factors_named(baseline.keys) if baseline else ()
    if baseline is None or not factors:
        return AgainstBaseline()
    training = [each for each in measured if each.trains]
    told, found = told_of(training), []
    alone = {_name_of(each) for each in training if not is_base(each, baseline)}
    for group in alike(training, *factors):
        others = [each for each in group if not is_base(each, baseline)]
        for base in (each for each in group if is_base(each, baseline)):
            pairs = [(other, base) for other in others if same_host(other, base)]
            alone -= {_name_of(other) for other, _ in pairs}
            compared = [comparison_of(factors, pair, told=told) for pair in pairs]
            found += sorted(compared, key=lambda each: -each.ratio.median)
    return AgainstBaseline(compared=tuple(dict.fromkeys(found)), num_without=len(alone))


def is_base(each: Measured, baseline: Baseline) -> bool:
    """Whether a seed of it has the baseline's values."""
    return any(point in baseline.points for point in each.points)


def _name_of(each: Measured) -> tuple[str, str, str]:
    return each.setting_id, each.versions, each.variables
