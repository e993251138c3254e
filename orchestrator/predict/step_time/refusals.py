"""Why others' steps do not tell the time of a step: what was asked, why, what is possible. Pure."""

from orchestrator.core.estimate import Refusal
from orchestrator.predict.step_time.analytic import beyond
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.step_query import StepQuery
from orchestrator.train.precision import PRECISIONS
from workloads.spec import ScriptSpec

_MOST_WORKERS = 8  # of one host, in the published trainings
_NETWORKS = {"classifier": "an image classifier", "transformer": "a transformer"}


def refusal_of(query: StepQuery, models: DefaultModels) -> Refusal | None:
    """Return the first reason against an estimate; None where there is none."""
    if isinstance(query.spec, ScriptSpec):
        return Refusal(
            reason="the operations of a script are not known before it runs", to_measure="this point"
        )
    return _without_peaks(query) or _unlike(query) or sizes_refusal(query, models)


def sizes_refusal(query: StepQuery, models: DefaultModels) -> Refusal | None:
    """Explain why a step is smaller or larger than what was published of its family; None if it is not."""
    if query.family is None:
        return None
    sizes = models.sizes[query.family]
    return beyond(query.demand_of_each, least=sizes.least, most=sizes.most)


def _without_peaks(query: StepQuery) -> Refusal | None:
    """Explain which figure of the device is missing, and in which precisions it has all of them."""
    device, peaks, precision = query.device, query.peaks, query.precision
    if precision in peaks.flops_per_second and peaks.memory_bytes_per_second is not None:
        if query.replicas == 1 or peaks.link_bytes_per_second is not None:
            return None
        return Refusal(
            reason=f"the bandwidth between several {device.name} is unknown",
            to_measure="this point",
        )
    if device.kind == "cpu":
        return Refusal(
            reason="no CPU was measured: its speed depends on its model, cores and threads",
            to_measure="this point",
        )
    known = [name for name in PRECISIONS if name in peaks.flops_per_second]
    if known and peaks.memory_bytes_per_second is not None:
        return Refusal(reason=_no_peak(query, known), to_measure=_instead(query, known))
    return Refusal(reason=f"the peaks of {device.name} are unknown", to_measure="this point")


def _no_peak(query: StepQuery, known: list[str]) -> str:
    device, precision = query.device, query.precision
    if precision in device.native_precisions:
        return f"the {precision} peak of {device.name} is unknown, those in {_listed(known)} are known"
    return f"{device.name} has no {precision} arithmetic; it has {_listed(known)}"


def _instead(query: StepQuery, known: list[str]) -> str:
    if query.precision in query.device.native_precisions:
        return "this point"
    return f"it in {' or '.join(known)}"


def _unlike(query: StepQuery) -> Refusal | None:
    """Explain why published steps do not resemble this one."""
    if query.family is None:
        return Refusal(
            reason="only image classifiers and transformers were measured",
            to_measure=f"this workload there in {query.precision}{_workers(query)}",
        )
    if query.family == "transformer" and query.num_workers > _MOST_WORKERS:
        return Refusal(
            reason=f"rates are of at most {_MOST_WORKERS} workers of one host, not {query.num_workers}",
            to_measure=f"{_NETWORKS[query.family]} there in {query.precision}{_workers(query)}",
        )
    return None


def _workers(query: StepQuery) -> str:
    return f" with {query.num_workers} workers" if query.num_workers > 1 else ""


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
