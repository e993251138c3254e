"""Every setting against the baseline that the sweep names. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.comparison.compare import (
    LEAST_REPEATS,
    Comparison,
    build_comparison,
    distinguishing_fields,
)
from orchestrator.analysis.comparison.factors import alike, factors_named, same_host
from orchestrator.analysis.formatting import counted, marks, ratio
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.placement import Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstBaseline:
    """Measurements compared with the baseline.

    Attributes:
        compared: every setting over its baseline, those with the same baseline together, the fastest first.
        num_without: settings without a measured baseline.
    """

    compared: tuple[Comparison, ...] = ()
    num_without: int = 0


def against_baseline(measured: Sequence[Measurement], baseline: Baseline | None) -> AgainstBaseline:
    """Compare every setting with the one that has the baseline's values and is like it in all else.

    `{device: cpu, precision: fp32}` is, for a trial of TensorFlow with two workers in bf16 on a T4, the
    trial of TensorFlow with two workers in fp32 on the CPU.
    """
    factors = factors_named(baseline.keys) if baseline else ()
    if baseline is None or not factors:
        return AgainstBaseline()
    training = [measurement for measurement in measured if measurement.trains]
    distinct, comparisons = distinguishing_fields(training), []
    alone = {_find_name(measurement) for measurement in training if not is_base(measurement, baseline)}
    for group in alike(training, *factors):
        others = [member for member in group if not is_base(member, baseline)]
        for base in (member for member in group if is_base(member, baseline)):
            pairs = [(other, base) for other in others if same_host(other, base)]
            alone -= {_find_name(other) for other, _ in pairs}
            compared = [build_comparison(factors, pair, distinct=distinct) for pair in pairs]
            comparisons += sorted(compared, key=lambda comparison: -comparison.ratio.median)
    return AgainstBaseline(compared=tuple(dict.fromkeys(comparisons)), num_without=len(alone))


def is_base(measurement: Measurement, baseline: Baseline) -> bool:
    """Return whether a measurement has the baseline's values; its seed may differ."""
    return any(point in baseline.points for point in measurement.points)


def _find_name(measurement: Measurement) -> tuple[str, str, str]:
    return measurement.setting_id, measurement.versions, measurement.variables


_READING = (
    f"Ratio of samples/s over repeats, with its 95% interval. A verdict needs {LEAST_REPEATS} "
    "repeats on each side. A difference is shown where the interval excludes 1."
)


def baseline_table(against: AgainstBaseline) -> Table:
    """One row per setting that has a baseline."""
    missing = (
        [f"The baseline of {counted(against.num_without, 'setting')} was not measured."]
        if against.num_without
        else []
    )
    return _build_table(
        "Against the baseline",
        " ".join([_READING, *missing]),
        headers=("where", "setting", "baseline"),
        rows=((one.where, one.first, one.second, one) for one in against.compared),
    )


def compared_table(comparisons: Iterable[Comparison]) -> Table:
    """One row per pair of measurements that differ in one factor."""
    return _build_table(
        "Compared",
        f"Pairs of settings that differ in one factor, fastest first. {_READING}",
        headers=("by", "where", "first", "second"),
        rows=((one.factor, one.where, one.first, one.second, one) for one in comparisons),
    )


def _build_table(
    title: str, note: str, *, headers: Sequence[str], rows: Iterable[tuple[*tuple[str, ...], Comparison]]
) -> Table:
    """Make a table with the ratio and the verdict of a comparison at the end of each row."""
    return Table(
        title=title,
        note=note,
        columns=(*list_columns(*headers), *list_columns("ratio", is_number=True), *list_columns("verdict")),
        rows=tuple((*cells, ratio(one.ratio), format_verdict(one)) for *cells, one in rows),
    )


def format_verdict(comparison: Comparison) -> str:
    """The verdict, with a mark where a side was disturbed or resumed."""
    return f"{comparison.verdict}{marks(is_noisy=comparison.is_noisy, is_resumed=comparison.is_resumed)}"
