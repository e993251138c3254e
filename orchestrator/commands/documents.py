"""Results of commands on sweeps as JSON documents; `docs/reference/json.md` describes every key. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import Namer, names_in
from orchestrator.analysis.metrics.cost import marks_in
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.predictions.forecasts import Predicted
from orchestrator.analysis.recommendation.tables import convert_to_plain
from orchestrator.analysis.report.headline import build_headline
from orchestrator.analysis.tables.costs import Cost, sum_bills
from orchestrator.core import codec
from orchestrator.core.estimate import Refusal
from orchestrator.core.placement import Placement
from orchestrator.core.price import Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_progress import UNDER_WAY, TrialEvent, latest_steps
from orchestrator.pipeline.report import SweepReport
from orchestrator.pipeline.status import Status
from orchestrator.terminal.status import build_progress, trials_under_way

Document = dict[str, Any]

_ENDED = ("finished", "failed", "pruned")


def report_document(report: SweepReport) -> Document:
    """Make the document of `report`, and of `run` after it has ended."""
    findings = report.findings
    build_name = names_in(findings.plan)
    document = {
        "sweep": findings.plan.sweep,
        "is_complete": report.is_complete,
        "counts": {
            "measured": findings.num_measured,
            "rehearsed": sum(record.failure is None for record in findings.rehearsed),
            "failed": len(findings.failed),
            "pruned": len(findings.pruned),
            "skipped": len(findings.plan.skipped),
            "missing": findings.num_missing,
            "others": findings.num_others,
        },
        "answers": [convert_to_plain(recommendation) for recommendation in findings.recommendations],
        "settings": [_measured(measurement) for measurement in findings.measured],
        "runs": [_run(record, build_name) for record in findings.runs],
        "predicted": [_predicted(predicted) for predicted in findings.predicted],
        "rehearsed": [_rehearsed(record, build_name) for record in findings.rehearsed],
        "failed": [_failed(record, build_name) for record in findings.failed],
        "skipped": [{"point": point.point, "reason": point.reason} for point in findings.plan.skipped],
        "costs": _costs(findings.costs, findings.attempts, build_name),
        "sentences": [*build_headline(findings), *report.remarks],
        "report": str(report.report) if report.has_page else None,
        "files": [str(path) for path in report.files],
        "unwritten": list(report.unwritten),
    }
    plain: Document = codec.to_nulls(document)
    return plain


def _measured(measurement: Measurement) -> Document:
    return {
        "provenance": "measured",
        "num_repeats": measurement.num_repeats,
        **codec.to_nulls(measurement),
        "attempt_seconds": measurement.job_seconds,
        "attempt_usd": measurement.job_usd,
    }


def _run(record: TrialRecord, build_name: Namer) -> Document:
    metrics = collect_metrics(record)
    return {
        "provenance": record.provenance,
        "trial_id": record.trial_id,
        "trial": build_name(record.spec),
        "run_seconds": metrics["run_seconds"],
        "usd": metrics.get("attempt_usd"),
    }


def _predicted(predicted: Predicted) -> Document:
    trial, step, price = predicted.trial, predicted.step, predicted.price
    return {
        "provenance": predicted.known_by,
        "workload": trial.workload,
        "workload_options": trial.workload_options,
        "device": trial.device_label,
        "precision": trial.precision,
        "trainers": predicted.trainers,
        "num_workers": trial.num_workers,
        "global_batch_size": trial.global_batch_size,
        **codec.to_nulls(trial.memory_settings),
        "steps": trial.steps,
        "num_trials": predicted.num_trials,
        "step_seconds": predicted.step_seconds,
        "hours": predicted.hours,
        "usd": predicted.usd,
        "usd_per_million_samples": predicted.usd_per_million_samples,
        "is_limit": predicted.is_limit,
        "source": None if isinstance(step, Refusal) else step.source,
        "refusal": step if isinstance(step, Refusal) else None,
        "price": None if isinstance(price, Unpriced) else price,
        "unpriced": price.reason if isinstance(price, Unpriced) else None,
    }


def _rehearsed(record: TrialRecord, build_name: Namer) -> Document:
    return {
        "provenance": "rehearsed",
        "trial_id": record.trial_id,
        "trial": build_name(record.spec),
        "device": record.spec.device_label,
        "precision": record.spec.precision,
        "has_passed": record.failure is None,
    }


def _failed(record: TrialRecord, build_name: Namer) -> Document:
    return {
        "provenance": record.provenance,
        "trial_id": record.trial_id,
        "trial": build_name(record.spec),
        "attempt": record.attempt,
        "failure": record.failure,
    }


def _costs(costs: Sequence[Cost], attempts: Sequence[TrialRecord], build_name: Namer) -> Document:
    total = sum_bills(costs)
    return {
        "provenance": "measured",
        "usd": total.usd if costs else None,
        "billed_node_seconds": total.billed_node_seconds,
        "marks": marks_in(attempts),
        "settings": [
            {
                "setting": build_name(cost.trial),
                "num_trials": cost.num_trials,
                "num_failed": cost.num_failed,
                "bill": cost.bill,
                "prices": cost.prices,
            }
            for cost in costs
        ],
    }


def status_document(status: Status, *, now: float) -> Document:
    """Make the document of `status`.

    Args:
        now: seconds since the epoch.
    """
    plan = status.plan
    since = status.running.since if status.running else 0.0
    own = [step for step in status.steps if step.at >= since]
    at = latest_steps(own)
    seconds_left = None
    if status.running:
        progress = build_progress(status.running, status.records, trials_under_way(plan, own))
        seconds_left = progress.seconds_left(now=now)
    build_name = names_in(plan)
    left = [placement for placement in plan.placements if _is_left(placement, at, holder=status.holder)]
    kinds = Counter(placement.provenance for placement in left)
    document = {
        "sweep": plan.sweep,
        "is_running": status.holder is not None,
        "holder": status.holder,
        "counts": {
            "to_measure": kinds["measured"],
            "to_rehearse": kinds["rehearsed"],
            "cached": len(plan.cached),
            "stale": sum(cached.stale is not None for cached in plan.cached),
            "failed_before": len(plan.failed),
            "skipped": len(plan.skipped),
            "records": len(status.records),
        },
        "seconds_left": seconds_left,
        "under_way": list(_under_way(left, at, build_name)),
        "left": [
            {"provenance": one.provenance, "trial_id": one.trial_id, "trial": build_name(one.trial)}
            for one in left
        ],
        "search": status.search,
    }
    plain: Document = codec.to_nulls(document)
    return plain


def _is_left(placement: Placement, at: dict[str, TrialEvent], *, holder: str | None) -> bool:
    """Return whether the trial has not ended in the command that runs; no one's plan is of what is left."""
    step = at.get(placement.trial_id)
    return holder is None or step is None or step.stage not in _ENDED


def _under_way(left: Sequence[Placement], at: dict[str, TrialEvent], build_name: Namer) -> Iterator[Document]:
    for placement in left:
        step = at.get(placement.trial_id)
        if step and step.stage in UNDER_WAY:
            yield {
                "provenance": placement.provenance,
                "trial_id": placement.trial_id,
                "trial": build_name(placement.trial),
                "attempt": step.attempt,
                "stage": step.stage,
                "since": step.at,
            }
