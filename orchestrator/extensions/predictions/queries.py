"""Queries of the steps of points. Pure."""

from orchestrator.core.estimate import Refusal
from orchestrator.core.sweep import Point
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from orchestrator.plan.compatibility import find_reason_against_settings
from orchestrator.plan.trial_specs import build_workload, unsuitable


def find_unsuitable(point: Point) -> Refusal | None:
    """Refuse an input size that the workload does not accept, and settings that no trainer trains."""
    if reason := unsuitable(point):
        return Refusal(reason=reason, to_measure="another size")
    reason = find_reason_against_settings(point)
    return Refusal(reason=reason, to_measure="it with other settings") if reason else None


def build_step_query(point: Point) -> StepQuery | Refusal:
    """Build the query of a point's step, or refuse it."""
    return find_unsuitable(point) or StepQuery(
        spec=build_workload(point),
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
        num_hosts=point.num_hosts or 1,
        memory_settings=point.memory_settings,
        is_compiled=point.trainer_options.get("compile") == "on",
    )
