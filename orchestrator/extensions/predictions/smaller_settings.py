"""Refuse a step that surely does not fit, and name settings that may. Pure."""

from dataclasses import replace

from orchestrator.core.estimate import Misfit, Refusal
from orchestrator.core.memory_fit import Verdict
from orchestrator.core.sweep import Point
from orchestrator.extensions.predictions.memory_need import LARGER_OR_SMALLER, MemoryNeed
from orchestrator.extensions.predictions.queries import build_step_query
from orchestrator.extensions.predictions.step_time.refusals import find_obstacle
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from orchestrator.plan.compatibility import reason_against
from orchestrator.plan.lighter_settings import list_lighter_settings
from orchestrator.train.registry import trainers

_COUNTED_SMALLER = "what `plan` proposes, or a device with more memory"


def explain_misfit(point: Point, query: StepQuery, need: MemoryNeed | None) -> Refusal | None:
    """Explain that the step surely does not fit, or why no smaller one is possible; None where it may fit."""
    misfit = need.describe_misfit(point.device.name) if need else ""
    if need is None or not misfit:
        return None
    if obstacle := find_obstacle(query):
        return obstacle
    smaller = _COUNTED_SMALLER if isinstance(need.counted, Verdict) else _find_smaller(need, point)
    return Misfit(reason=misfit, to_measure=smaller)


def _find_smaller(need: MemoryNeed, point: Point) -> str:
    """Name the largest batch and the largest micro batch that may fit, or what else would."""
    micro = _find_micro_batch(need, point)
    whole = f"global_batch_size={need.largest_batch}" if need.largest_batch and need.passes == 1 else ""
    sizes = " or ".join(filter(None, (whole, micro)))
    lighter = "" if micro else _find_lighter(point)
    found = " or ".join(filter(None, (sizes and f"{sizes} at most", lighter)))
    return found or LARGER_OR_SMALLER


def _find_micro_batch(need: MemoryNeed, point: Point) -> str:
    """Name the largest micro batch that may fit; empty: none does, or no trainer has any."""
    size = need.largest_micro_batch
    settings = replace(point.memory_settings, micro_batch_size=1)
    can_divide = size and _can_train(replace(point, memory_settings=settings))
    return f"micro_batch_size={size}" if can_divide else ""


def _find_lighter(point: Point) -> str:
    """Name the settings that may fit and cost least time; empty: none do."""
    for one in list_lighter_settings(
        point.workload,
        point.workload_options,
        point.memory_settings,
        num_workers=point.num_workers,
        replicas=point.device.replicas,
        global_batch_size=point.global_batch_size,
    ):
        changed = replace(
            point,
            workload_options=one.workload_options,
            memory_settings=one.memory_settings,
            num_workers=one.num_workers,
            num_hosts=None if one.num_workers > point.num_workers else point.num_hosts,
        )
        query = build_step_query(changed)
        need = None if isinstance(query, Refusal) else query.memory
        if need is None or not _can_train(changed):
            continue
        if need.fits:
            return one.words
        if micro := _find_micro_batch(need, changed):
            return f"{one.words} with {micro} at most"
    return ""


def _can_train(point: Point) -> bool:
    """Return whether a trainer trains a point with its settings of memory."""
    able = (info for info in trainers().values() if info.memory_keys)
    tried = ((replace(point, trainer=info.name, trainer_options={}), info) for info in able)
    return any(reason_against(one, info) is None for one, info in tried)
