"""Reference of the metrics, from the tables of the code."""

from collections.abc import Iterable
from typing import Any

from docsite.markdown import code, table
from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS
from orchestrator.analysis.metrics.metric import Metric


def metric_reference() -> str:
    """Return the numbers of an attempt and of its cost, as Markdown."""
    return "\n".join(
        (
            "## Times, rates and resources\n",
            _metrics(METRICS.values()),
            "## Cost\n",
            _metrics(COSTS.values()),
        )
    )


def _metrics(metrics: Iterable[Metric[Any]]) -> str:
    return table(
        ("number", "unit", "meaning", "column of the report"),
        ((code(metric.key), metric.unit, metric.meaning, metric.header) for metric in metrics),
    )
