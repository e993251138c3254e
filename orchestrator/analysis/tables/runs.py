"""Table of scripts that reported no step: each is measured as a whole."""

from collections.abc import Sequence

from orchestrator.analysis.formatting import UNKNOWN, number
from orchestrator.analysis.measurements.setting import Namer
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.table import Column, Table
from orchestrator.core.result import TrialRecord

_NOTE = (
    "Scripts that reported no step: from the start of the command to its end, on the slowest worker, and the "
    "cost of the whole trial. They have no times of steps and are not compared. Their devices and precision "
    "were not seen."
)


def find_runs(records: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """Return the records of scripts that were measured as a whole."""
    return tuple(
        record
        for record in records
        if record.result and record.result.run_seconds and record.provenance == "measured"
    )


def runs_table(runs: Sequence[TrialRecord], build_name: Namer) -> Table:
    """Make a row per trial; a run that has a result ended with exit code 0."""
    return Table(
        title="Runs",
        note=_NOTE,
        columns=(
            Column(header="trial"),
            Column(header="run s", is_number=True),
            Column(header="exit code", is_number=True),
            Column(header="$", is_number=True),
        ),
        rows=tuple(_row(record, build_name) for record in runs),
    )


def _row(record: TrialRecord, build_name: Namer) -> tuple[str, ...]:
    metrics = collect_metrics(record)
    usd = metrics.get("attempt_usd")
    return (
        build_name(record.spec),
        number(metrics["run_seconds"]),
        number(0),
        UNKNOWN if usd is None else number(usd),
    )
