"""The part of a report on split convolutions."""

from collections.abc import Sequence

from orchestrator.analysis.figures.vega_lite import Figure
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.section import ReportSection
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.kernel_split.analysis.speedups import find_splits
from orchestrator.extensions.kernel_split.analysis.tables import paper_table, split_table


def build_section(measured: Sequence[Measurement], records: Sequence[TrialRecord]) -> ReportSection:
    """Compare trials with split convolutions, and the predictions of the model of their time."""
    splits = find_splits(measured, records)

    def build_figures() -> Sequence[Figure]:
        from orchestrator.extensions.kernel_split.analysis.figures import split_figures

        return split_figures(splits)

    return ReportSection(tables=(split_table(splits), paper_table(splits)), build_figures=build_figures)
