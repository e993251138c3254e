"""What the tracking server is told of a sweep, and where it shows the sweep."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from orchestrator.analysis.measurements.noise import noise_of
from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.analysis.metrics.units import in_tracked_units
from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.record.tracking.page import page_lines
from orchestrator.record.tracking.summary import NOISY, RATE
from orchestrator.record.tracking.tracker import PLAN_NAME, LoggedRecord, SweepOutline


def outline_of(settings: Settings, records: Iterable[TrialRecord], plan: Plan | None) -> SweepOutline:
    """Describe a sweep by its plan, if one is known, and by the trials that it has recorded."""
    asked = plan.asked if plan else ()
    specs = {
        **{trial.trial_id: trial.trial for trial in asked},
        **{record.trial_id: record.spec for record in records},
    }
    return SweepOutline(
        name=settings.sweep.name,
        goal=settings.objective.goal,
        folder=settings.outputs / settings.sweep.name,
        specs=tuple(specs.values()),
        planned=frozenset(trial.trial_id for trial in asked) if plan else None,
    )


def tracked_metrics_of(record: TrialRecord) -> dict[str, float]:
    """Return the metrics of an attempt, as the tracking server has them."""
    metrics = in_tracked_units(metrics_of(record))
    return {**metrics, NOISY: float(bool(noise_of(record)))} if RATE in metrics else metrics


def logged(records: Iterable[TrialRecord]) -> Iterator[LoggedRecord]:
    """Yield the records with their metrics."""
    return ((record, tracked_metrics_of(record)) for record in records)


def last_plan_in(folder: Path) -> Plan | None:
    """Return the plan of the last report in a sweep's folder; None if there is none that can be read."""
    try:
        return from_json(Plan, (folder / PLAN_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecordError):
        return None


def tracked_lines(settings: Settings, experiment_id: str | None) -> tuple[str, ...]:
    """Return where MLflow shows the sweep; nothing if it is not tracked, or no server has answered."""
    if settings.tracking_uri is None or experiment_id is None:
        return ()
    return page_lines(settings.tracking_uri, experiment_id=experiment_id)
