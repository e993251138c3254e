"""What comparisons show, as tables and in words."""

from collections.abc import Iterable

from orchestrator.analysis.baseline import AgainstBaseline
from orchestrator.analysis.compare import LEAST_REPEATS, Comparison
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import counted, marks, ratio

_READING = (
    f"The ratio is that of samples/s, over repeats, with its 95% interval. A verdict takes {LEAST_REPEATS} "
    "repeats a side, and a difference is shown where the interval does not hold 1."
)


def baseline_table(against: AgainstBaseline) -> Table:
    """One row per setting that has a baseline."""
    missing = (
        [f"The baseline of {counted(against.num_without, 'setting')} was not measured."]
        if against.num_without
        else []
    )
    return Table(
        title="Against the baseline",
        note=" ".join([_READING, *missing]),
        columns=(
            *(Column(header=each) for each in ("where", "setting", "baseline")),
            Column(header="ratio", is_number=True),
            Column(header="verdict"),
        ),
        rows=tuple(
            (each.where, each.first, each.second, ratio(each.ratio), verdict_of(each))
            for each in against.compared
        ),
    )


def compared_table(comparisons: Iterable[Comparison]) -> Table:
    """One row per pair of measurements that differ in one factor."""
    return Table(
        title="Compared",
        note=f"Pairs that differ in one thing alone, the fastest first. {_READING}",
        columns=(
            *(Column(header=each) for each in ("by", "where", "first", "second")),
            Column(header="ratio", is_number=True),
            Column(header="verdict"),
        ),
        rows=tuple(
            (each.factor, each.where, each.first, each.second, ratio(each.ratio), verdict_of(each))
            for each in comparisons
        ),
    )


def verdict_of(each: Comparison) -> str:
    """The verdict, with a mark where a side was disturbed or resumed."""
    return f"{each.verdict}{marks(is_noisy=each.is_noisy, is_resumed=each.is_resumed)}"


def in_words(each: Comparison) -> str:
    """`1.31x [1.27, 1.35] faster`, `1.02x [0.98, 1.07], no difference shown`, `1.40x, too few repeats`."""
    comma = "" if each.verdict in ("faster", "slower") else ","
    return f"{ratio(each.ratio)}{comma} {verdict_of(each)}"
