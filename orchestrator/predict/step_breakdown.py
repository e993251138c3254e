"""Parts of one step by analytic counts: what the time is spent on, before any correction. Pure."""

from dataclasses import dataclass, replace

from orchestrator.predict.step_time.analytic import parts_of, performed_flops
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.step_query import StepQuery


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
    peaks, precision, demand = query.peaks, query.precision, query.demand
    parts = query.parts(models.parts)
    if parts is None:
        return None
    flops, bandwidth = peaks.flops_per_second[precision], peaks.memory_bytes_per_second
    assert bandwidth is not None, "a device without it has no parts"
    whole = replace(
        demand,
        flops=performed_flops(demand, kind=peaks.kind, precision=precision),
        weight_bytes=query.replicas * demand.weight_bytes,
    )
    terms = parts_of(
        whole,
        flops_per_second=query.num_workers * flops,
        bytes_per_second=query.num_workers * bandwidth,
    )
    compute, values, weights, launch, step = (
        float(term) * coefficient for term, coefficient in zip(terms, models.parts.coefficients, strict=True)
    )
    of_device = parts.device / (compute + values + weights)
    of_host = parts.host / (launch + step) if launch + step else 0.0
    return StepBreakdown(
        compute=of_device * compute,
        memory=of_device * (values + weights),
        launch=of_host * launch,
        host=of_host * step,
        exchange=parts.exchange,
    )
