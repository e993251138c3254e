"""Part of a report that an extension adds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.figures.vega_lite import Figure
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.table import Table
from orchestrator.core.result import TrialRecord
from orchestrator.extension import load_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """Tables and figures of an extension.

    Attributes:
        tables: those without rows are left out.
        build_figures: function that draws the figures, called where a report shows some.
    """

    tables: tuple[Table, ...]
    build_figures: Callable[[], Sequence[Figure]]


def build_sections(
    measured: Sequence[Measurement], records: Sequence[TrialRecord]
) -> tuple[ReportSection, ...]:
    """Build the parts of all extensions. Raises ConfigError where one cannot be imported."""
    return tuple(build(measured, records) for build in load_parts("report_section"))
