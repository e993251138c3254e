"""Parts of one step by analytic counts: what the time is spent on, before any correction. Pure."""

from dataclasses import dataclass

from orchestrator.extensions.predictions.step_time.analytic import host_seconds
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels
from orchestrator.extensions.predictions.step_time.step_query import StepQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBreakdown:
    """Seconds of the parts of a step, each as if it were alone.

    Attributes:
        compute: arithmetic.
        memory: traffic of feature maps, weights and slots.
        sequence: time steps of recurrent layers, one after the other, beside their arithmetic.
        launch: launches of the kernels of every layer.
        host: work of the host for every step.
        exchange: exchange of gradients between replicas.
        gather: weights that every replica gathers from the shards of all, twice in a pass.
        loader: batches from the user's loader, as measured alone; 0: not measured.
    """

    compute: float
    memory: float
    sequence: float
    launch: float
    host: float
    exchange: float
    gather: float = 0.0
    loader: float = 0.0


def find_step_breakdown(query: StepQuery, models: DefaultModels) -> StepBreakdown | None:
    """Return the parts with the coefficients of all published steps; None where a peak is unknown."""
    parts = query.parts(models.parts)
    terms = models.parts.terms(
        query.demand, peaks=query.peaks, precision=query.arithmetic, num_workers=query.num_workers
    )
    if parts is None or terms is None:
        return None
    compute, values, weights, of_layers, of_step = terms.tolist()
    launch, step = host_seconds(of_layers, of_step, kind=query.peaks.kind, precision=query.arithmetic)
    sequence = models.parts.sequence_seconds(query.demand, query.peaks)
    of_device = parts.device / (compute + values + weights + sequence)
    of_host = parts.host / (launch + step) if launch + step else 0.0
    gathered = 2 * query.demand.gathered_bytes
    gather = parts.exchange * gathered / (gathered + query.demand.gradient_bytes) if gathered else 0.0
    return StepBreakdown(
        compute=of_device * compute,
        memory=of_device * (values + weights),
        sequence=of_device * sequence,
        launch=of_host * launch,
        host=of_host * step,
        exchange=parts.exchange - gather,
        gather=gather,
    )
