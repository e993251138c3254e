"""All figures of a report, each by a name that is safe in an address and as a file."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, count

from orchestrator.analysis.figures.learning import loss_figures, quality_figures
from orchestrator.analysis.figures.scaling import scaling_figures
from orchestrator.analysis.figures.spending import spending_figures
from orchestrator.analysis.figures.timeline import timeline_figures
from orchestrator.analysis.figures.vega_lite import Figure
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.recommendation.figures.throughput import RowIds, throughput_figures
from orchestrator.analysis.recommendation.figures.tradeoff import tradeoff_figures

_MOST_CHARACTERS = 60


def names_for(titles: Iterable[str]) -> Iterator[str]:
    """Make one name per title, of small letters, digits and dashes: `Time, cost` -> `time-cost`."""
    taken: set[str] = set()
    for title in titles:
        plain = "-".join(re.findall("[a-z0-9]+", title.lower()))[:_MOST_CHARACTERS].strip("-") or "untitled"
        wanted = chain([plain], (f"{plain}-{number}" for number in count(2)))
        name = next(name for name in wanted if name not in taken)
        taken.add(name)
        yield name


def name_rows(findings: Findings) -> RowIds:
    """Name the row of every ranked setting: `row:2-17` is the 18th of the third job."""
    return {
        (recommendation.job, standing.setting): f"row:{place}-{index}"
        for place, recommendation in enumerate(findings.recommendations)
        for index, standing in enumerate(recommendation.standings)
    }


def build_figures(findings: Findings) -> dict[str, Figure]:
    """Name -> figure, in reading order."""
    row_ids, build_name = name_rows(findings), names_in(findings.plan)
    figures = (
        *tradeoff_figures(findings.recommendations, row_ids),
        *throughput_figures(findings.recommendations, row_ids),
        *scaling_figures(findings.scaling),
        *quality_figures(findings.records),
        *loss_figures(findings.records),
        *(figure for section in findings.sections for figure in section.build_figures()),
        *spending_figures(findings.attempts),
        *timeline_figures((*findings.attempts, *findings.rehearsed), build_name),
    )
    return dict(zip(names_for(figure.title for figure in figures), figures, strict=True))
