"""The data of a sweep for the tracking server, and the sweep's place on it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.recommendation.jobs.length import known_length
from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run, read_run
from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import find_tracking_server
from orchestrator.record.tracking.tracker import (
    JOB_METRICS,
    NOISY,
    PLAN_NAME,
    RATE,
    LoggedRecord,
    Prediction,
    SweepOutline,
)
from orchestrator.record.tracking.units import in_tracked_units

if TYPE_CHECKING:
    from orchestrator.analysis.findings import Findings
    from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation

_SECONDS_PER_HOUR = 3600


def compute_job_metrics(record: TrialRecord, samples: int | None) -> dict[str, float]:
    """Return `job_seconds` and, with a price, `job_usd`; of a length in samples also `job_samples`.

    They are empty for a rehearsal, a failure, a target that was missed, and a job of unknown length.

    Args:
        samples: length of the job; None: unknown. A target takes its place.
    """
    run = read_run(record, None) if is_run(record) else None
    if run is None:
        return {}
    if record.spec.timing.target is not None:
        return {} if run.seconds_to_target is None else _compute_numbers(record, run.seconds_to_target)
    if samples is None:
        return {}
    steps = samples / record.spec.global_batch_size
    seconds = run.fixed_seconds + steps * run.step_seconds * (1 + run.checkpoint_share)
    return {"job_samples": float(samples), **_compute_numbers(record, seconds)}


def _compute_numbers(record: TrialRecord, seconds: float) -> dict[str, float]:
    if not isinstance(record.price, Price):
        return {"job_seconds": seconds}
    return {"job_seconds": seconds, "job_usd": seconds * record.price.usd_per_hour / _SECONDS_PER_HOUR}


_JOB = dict(zip(("job_samples", "job_seconds", "job_usd"), JOB_METRICS, strict=True))
_MOST_PREDICTIONS = 50


def build_outline(
    settings: Settings,
    records: Iterable[TrialRecord],
    plan: Plan | None,
    *,
    predictions: tuple[Prediction, ...] = (),
) -> SweepOutline:
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
        predictions=predictions,
    )


def compute_tracked_metrics(record: TrialRecord, plan: Plan | None, objective: Objective) -> dict[str, float]:
    """Return the metrics of an attempt, as the tracking server has them.

    Args:
        plan: has the length of its job; None: not known.
    """
    metrics = in_tracked_units(collect_metrics(record))
    if RATE in metrics:
        metrics[NOISY] = float(bool(describe_noise(record)))
    length = known_length(plan.find_training(record.spec), objective) if plan else None
    job = compute_job_metrics(record, length.samples if length else None)
    return metrics | {_JOB[name]: value for name, value in job.items()}


def logged(records: Iterable[TrialRecord], plan: Plan | None, objective: Objective) -> Iterator[LoggedRecord]:
    """Yield the records with their metrics."""
    return ((record, compute_tracked_metrics(record, plan, objective)) for record in records)


def list_predictions(findings: "Findings") -> tuple[Prediction, ...]:
    """Return the settings that no one measured, as the tracking server shows them.

    Of many those with the highest chance: each is a run, and a database writes some dozen in a second.
    """
    found = [
        (standing, answer)
        for answer in findings.recommendations
        for standing in answer.standings
        if standing.provenance != "measured"
    ]
    likeliest = sorted(found, key=lambda one: -one[0].chance)[:_MOST_PREDICTIONS]
    return tuple(_build_prediction(standing, answer) for standing, answer in likeliest)


def _build_prediction(standing: "RankedSetting", answer: "Recommendation") -> Prediction:
    rate, usd = standing.samples_per_second, standing.usd_per_million_samples
    metrics = {
        RATE: rate.median,
        "time/step_ms": 1000 * standing.likely,
        "time/step_ms_low": 1000 * standing.low,
        "time/step_ms_high": 1000 * standing.high,
        **({"cost/usd_per_million_samples": usd.median} if usd else {}),
    }
    return Prediction(
        job=answer.job,
        setting=standing.setting,
        factors=standing.factors,
        provenance="compiled" if standing.provenance == "compiled" else "predicted",
        metrics=metrics | _predicted_job(standing, answer),
    )


def _predicted_job(standing: "RankedSetting", answer: "Recommendation") -> dict[str, float]:
    """Return the time and cost of the whole job, if its length is known."""
    if answer.samples is not None and not answer.length:
        return {}
    values = (answer.samples, standing.seconds.median, standing.usd.median if standing.usd else None)
    return {name: float(value) for name, value in zip(JOB_METRICS, values, strict=True) if value is not None}


def last_plan_in(folder: Path) -> Plan | None:
    """Return the plan of the last report in a sweep's folder; None if there is none that can be read."""
    try:
        return from_json(Plan, (folder / PLAN_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecordError):
        return None


def tracked_lines(settings: Settings, experiment_id: str | None) -> tuple[str, ...]:
    """Return where the server shows the sweep; nothing if it is not tracked, or no server answered."""
    server = find_tracking_server(settings)
    return () if server is None or experiment_id is None else server.list_pages(experiment_id)
