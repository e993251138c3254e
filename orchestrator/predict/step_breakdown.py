"""Parts of one step by analytic counts: what the time is spent on, before any correction. Pure."""

from dataclasses import dataclass, replace

from orchestrator.core.peaks import peaks_of
from orchestrator.predict.step_time.analytic import parts_of
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.published_estimate import StepQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBreakdown:
    """Seconds of the parts of a step, each as if it were alone.

    Attributes:
        compute: arithmetic.
        memory: traffic of feature maps, weights and slots.
        launch: launches of the kernels of every layer.
        host: work of the host for every step.
        exchange: exchange of gradients between replicas.
    """

    compute: float
    memory: float
    launch: float
    host: float
    exchange: float


def step_breakdown_of(query: StepQuery, models: DefaultModels) -> StepBreakdown | None:
    """Return the parts with the coefficients of all published steps; None where a peak is unknown."""
    peaks = peaks_of(query.device, query.precision, count=query.num_workers)
    exchange = query.roofline.exchange_seconds
    if peaks is None or exchange is None or not query.demand.layers:
        return None
    flops, bandwidth = peaks.flops_per_second, peaks.memory_bytes_per_second
    if flops is None or bandwidth is None:
        return None
    whole = replace(query.demand, weight_bytes=query.replicas * query.demand.weight_bytes)
    terms = parts_of(whole, flops_per_second=flops, bytes_per_second=bandwidth)
    compute, values, weights, launch, host = (
        float(term) * coefficient
        for term, coefficient in zip(terms, models.any_gpu.coefficients, strict=True)
    )
    return StepBreakdown(
        compute=compute, memory=values + weights, launch=launch, host=host, exchange=exchange
    )
