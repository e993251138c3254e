"""All figures of a report, each by a name that is safe in an address and as a file."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any

from orchestrator.analysis.figures.plots import Figure, loss_figures, throughput_figures
from orchestrator.analysis.figures.timeline import timeline_figures
from orchestrator.analysis.figures.trends import scaling_figures, step_cost_figures
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.kernel_split.figures import split_figures
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.recommendation.figure import recommendation_figures

_MOST_CHARACTERS = 60


def names_for(titles: Iterable[str]) -> Iterator[str]:
    """One name per title, of small letters, digits and dashes: `Time, cost` -> `time-cost`."""
    taken: set[str] = set()
    for title in titles:
        plain = "-".join(re.findall("[a-z0-9]+", title.lower()))[:_MOST_CHARACTERS].strip("-") or "untitled"
        wanted = chain([plain], (f"{plain}-{number}" for number in count(2)))
        name = next(name for name in wanted if name not in taken)
        taken.add(name)
        yield name


_AXIS = {"automargin": True}
_LAYOUT = {
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "margin": {"l": 40, "r": 16, "t": 10, "b": 50},
    "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "maxheight": 0.8},
    "showlegend": True,
    "dragmode": False,
    "hovermode": "closest",
}


def figures_of(findings: Findings) -> dict[str, Figure]:
    """Name -> figure, in reading order."""
    figures = (
        *recommendation_figures(findings.recommendations),
        *throughput_figures(findings.measured),
        *step_cost_figures(findings.step_costs),
        *scaling_figures(findings.scaling),
        *split_figures(findings.splits),
        *loss_figures(findings.records),
        *timeline_figures((*findings.attempts, *findings.rehearsed), names_in(findings.plan)),
    )
    return dict(zip(names_for(figure.title for figure in figures), figures, strict=True))


def drawn(figure: Figure) -> dict[str, Any]:
    """Return the Plotly figure: its own layout over the shared one. Text and grid are coloured by the
    page.
    """
    own: Mapping[str, Any] = figure.plot["layout"]
    axes = {axis: {**_AXIS, **own[axis]} for axis in ("xaxis", "yaxis")}
    return {"data": figure.plot["data"], "layout": {**_LAYOUT, **own, **axes}}
