"""Latencies that were predicted from profiles, as a table and as a JSON document. Pure."""

from collections.abc import Iterable
from typing import Any

from orchestrator.analysis.formatting import UNKNOWN, format_spread, number
from orchestrator.analysis.predictions.forecasts import find_origin
from orchestrator.analysis.table import Column, Table
from orchestrator.commands.step_document import step_document
from orchestrator.core import codec
from orchestrator.core.estimate import Estimate
from orchestrator.extensions.profile_transfer.models.transfer import Transfer


def build_document(transfers: Iterable[Transfer]) -> dict[str, Any]:
    """Make the document of `predict transfer`."""
    plain: dict[str, Any] = codec.to_nulls(
        {
            "predictions": [
                {
                    "workload": one.workload,
                    "anchor": one.anchor,
                    "measured_seconds": one.measured_seconds,
                    "device": one.target,
                    **step_document(one.step),
                }
                for one in transfers
            ]
        }
    )
    return plain


def build_table(transfers: Iterable[Transfer]) -> Table:
    """Build one row for each workload and target."""
    headers = ("workload", "anchor", "measured ms", "target", "predicted ms [90%]", "from, or why not")
    numbers = ("measured ms", "predicted ms [90%]")
    return Table(
        title="Predicted from profiles",
        note="Predicted, not measured, but on the anchor. Brackets: 90% interval "
        "for models that were not measured before.",
        columns=tuple(Column(header=header, is_number=header in numbers) for header in headers),
        rows=tuple(
            (
                transfer.workload,
                transfer.anchor,
                number(1e3 * transfer.measured_seconds),
                transfer.target,
                format_spread(transfer.step.spread.times(1e3))
                if isinstance(transfer.step, Estimate)
                else UNKNOWN,
                find_origin(transfer.step),
            )
            for transfer in transfers
        ),
    )
