"""Estimate of a step from the bundled models, which are fitted to published measurements. Pure."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.peaks import peaks_of
from orchestrator.predict.step_time.analytic import Analytic, around, beyond
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.error_model import LogRatioPosterior
from orchestrator.predict.step_time.published_rates import Family, Rated, rated_of
from orchestrator.predict.step_time.roofline import Roofline, StepCost, roofline_of, step_cost_of
from orchestrator.train.precision import PRECISIONS
from workloads.layers import Custom, Embedding, Rbm, Recurrent
from workloads.sequence_layers import Attention
from workloads.spec import ScriptSpec, Supervised, TokenPrediction, Workload, WorkloadSpec

_UNLIKE_ALL = (Custom, Rbm, Recurrent)
_MOST_WORKERS = 8  # of one host, in the published trainings of transformers
_NETWORKS: Mapping[Family, str] = {"classifier": "an image classifier", "transformer": "a transformer"}
_PEERS: Mapping[Family, str] = {"classifier": "", "transformer": "transformer"}
_UNLIKE = 2.0
"""Factor on the spread of workloads where others measured nothing alike: an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepQuery:
    """Query for the time of a step.

    Attributes:
        spec: spec of the workload with its options.
    """

    spec: Workload
    device: Device
    precision: str
    num_workers: int
    global_batch_size: int

    @property
    def family(self) -> Family | None:
        """Family of measured networks that its layers resemble; None if they resemble none."""
        if not isinstance(self.spec, WorkloadSpec):
            return None
        protocol = self.spec.phases[-1].protocol
        if not isinstance(protocol, (Supervised, TokenPrediction)):
            return None
        layers = [node.layer for node in self.spec.networks[protocol.network].nodes]
        if any(isinstance(layer, _UNLIKE_ALL) for layer in layers):
            return None
        if any(isinstance(layer, Attention) for layer in layers):
            return "transformer"
        return None if any(isinstance(layer, Embedding) for layer in layers) else "classifier"

    @property
    def demand(self) -> StepCost:
        """Cost of the step on all devices."""
        return step_cost_of(
            self.spec,
            global_batch_size=self.global_batch_size,
            value_bytes=PRECISIONS[self.precision].value_bytes,
        )

    @property
    def demand_of_each(self) -> StepCost:
        """Cost of the step on one replica."""
        whole = self.demand
        return replace(
            whole, flops=whole.flops / self.replicas, value_bytes=whole.value_bytes / self.replicas
        )

    @property
    def replicas(self) -> int:
        """Number of replicas of all workers together."""
        return self.num_workers * self.device.replicas

    @property
    def roofline(self) -> Roofline:
        """Roofline bound of the step."""
        return roofline_of(self.demand, self.device, precision=self.precision, count=self.num_workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEstimate:
    """Estimate of a step before own measurements.

    Attributes:
        step: time of a step, or the reason for the refusal.
        seconds: sum of the parts of a step, corrected by own measurements; None if unknown.
        peers: key that is equal for steps whose measurements correct each other.
        device, workload: deviations of logarithms from those sums, as in `Prior`.
        source: whose coefficients the sum has.
    """

    step: Estimate | Refusal
    seconds: float | None
    peers: Hashable
    device: float
    workload: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublishedData:
    """Published data about a step.

    Attributes:
        model: whose coefficients its sum of parts has.
        learned: posterior of the logarithm of the step over that sum.
        factor: factor of the interval to both sides.
        unlike: why that is too little for an estimate; None: it is enough.
    """

    model: Analytic
    learned: LogRatioPosterior
    factor: float
    source: str
    unlike: str | None = None


def published_estimate_of(query: StepQuery, models: DefaultModels) -> PublishedEstimate:
    """Estimate any step: by a fit, else by rates of a few networks, else refuse and give the sum of parts."""
    published = _known(query, models)
    too_far = _beyond(query, published.model, models)
    parts = None if too_far else sum_of_parts(query, published.model)
    seconds = None if parts is None else math.exp(published.learned.mean) * parts
    refusal = _unlike(query, published.unlike, seconds) if published.unlike else too_far
    return PublishedEstimate(
        step=refusal or _step(query, seconds, published),
        seconds=seconds,
        peers=(
            query.device.name,
            query.precision,
            query.num_workers,
            _PEERS[query.family] if query.family else query.spec.name,
        ),
        device=published.learned.of_mean,
        workload=published.learned.of_one,
        source=published.source,
    )


def _beyond(query: StepQuery, model: Analytic, models: DefaultModels) -> Refusal | None:
    """Explain why a step is smaller or larger than what was measured of its family; None if it is not."""
    if query.family is None:
        return None
    sizes = model if query.family == "classifier" else models.transformers
    return beyond(query.demand_of_each, least=sizes.least, most=sizes.most)


def sum_of_parts(query: StepQuery, model: Analytic) -> float | None:
    """Return the roofline plus the exchange of gradients; None where a peak is unknown."""
    if isinstance(query.spec, ScriptSpec):
        return None
    peaks = peaks_of(query.device, query.precision, count=query.num_workers)
    exchange = query.roofline.exchange_seconds
    if peaks is None or exchange is None:
        return None
    flops, memory = peaks.flops_per_second, peaks.memory_bytes_per_second
    if flops is None or memory is None:
        return None
    demand = query.demand
    whole = replace(demand, weight_bytes=query.replicas * demand.weight_bytes)
    return exchange + model.sum_of_parts(whole, flops_per_second=flops, bytes_per_second=memory)


def _known(query: StepQuery, models: DefaultModels) -> _PublishedData:
    """Return published data: of a fit, else of rates, else none."""
    prior = models.prior
    unlike = _why_unlike(query, models)
    if unlike is None:
        fitted = models.devices.get(query.device.name)
        model = fitted or models.any_gpu
        workload = math.log(fitted.factor) / prior.quantile if fitted else prior.workload
        learned = LogRatioPosterior(mean=0.0, of_mean=prior.device, of_one=workload)
        return _PublishedData(model=model, learned=learned, factor=model.factor, source=model.source)
    rated = _rated(query, models)
    if rated:
        factor = math.exp(prior.quantile * rated.learned.deviation)
        far = None
        if query.family == "transformer" and query.num_workers > _MOST_WORKERS:
            far = f"rates are of at most {_MOST_WORKERS} workers of one host, not {query.num_workers}"
        return _PublishedData(
            model=models.any_gpu, learned=rated.learned, factor=factor, source=rated.source, unlike=far
        )
    return _PublishedData(
        model=models.any_gpu,
        learned=LogRatioPosterior(mean=0.0, of_mean=math.inf, of_one=_UNLIKE * prior.workload),
        factor=math.inf,
        source="rough, for others measured nothing alike",
        unlike=unlike,
    )


def _why_unlike(query: StepQuery, models: DefaultModels) -> str | None:
    """Explain why the fits do not apply to the step; None where they may."""
    if isinstance(query.spec, ScriptSpec):
        return "the operations of a script are not known before it runs"
    if query.device.kind == "cpu":
        return "no CPU was measured"
    if query.family is None:
        return "only image classifiers and transformers were measured"
    if query.family == "transformer":
        return f"no transformer was measured there in {query.precision}"
    if query.device.kind != "gpu" or query.precision != models.precision:
        return f"no {query.device.kind.upper()} was measured in {query.precision}"
    if query.replicas > 1:
        return f"measured on one device, not {query.replicas}"
    return None


def _unlike(query: StepQuery, reason: str, seconds: float | None) -> Refusal:
    """Refuse with the measurement to make; without a sum of parts to correct, that is the step itself."""
    if seconds is None:
        return Refusal(reason=reason, to_measure="this point")
    network = "this workload" if query.family is None else _NETWORKS[query.family]
    workers = f" with {query.num_workers} workers" if query.num_workers > 1 else ""
    return Refusal(reason=reason, to_measure=f"{network} there in {query.precision}{workers}")


def _rated(query: StepQuery, models: DefaultModels) -> Rated | None:
    """Return the published rates that apply to the step; None where there are none.

    Those in a precision that the device is as fast in count too: fp16 and bf16 on Ampere.
    """
    deviations = {
        "classifier": (models.prior.device, _UNLIKE * models.prior.workload),
        "transformer": (models.transformers.device, models.transformers.workload),
    }
    if query.family is None:
        return None
    device, workload = deviations[query.family]
    kin = (step for step in models.rated if (step.kind, step.family) == (query.device.kind, query.family))
    peaks = query.device.peak_flops_per_second
    as_fast = {
        query.precision,
        *(label for label, peak in peaks.items() if peak == peaks.get(query.precision)),
    }
    return rated_of(
        (step for step in kin if step.precision in as_fast),
        device=query.device.name,
        between_devices=device,
        workload=workload,
    )


def _step(query: StepQuery, seconds: float | None, published: _PublishedData) -> Estimate | Refusal:
    if seconds is None:
        return Refusal(
            reason=f"the {query.precision}, memory or link peak of {query.device.name} is unknown",
            to_measure="this point",
        )
    return around(seconds, factor=published.factor, source=published.source)
