"""Estimate of a step from published steps and the user's own ones, by the bundled models. Pure."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.extensions.predictions.step_time.analytic import DevicePeaks, StepParts, around
from orchestrator.extensions.predictions.step_time.basis import BasisKind, describe_step_basis, nearest
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels, past_hits
from orchestrator.extensions.predictions.step_time.crossed_effects import (
    CrossedEffects,
    EffectsPosterior,
    StepLabels,
)
from orchestrator.extensions.predictions.step_time.refusals import find_refusal, sizes_refusal
from orchestrator.extensions.predictions.step_time.step_query import PCIE_SECONDS, StepQuery, precision_label
from orchestrator.train.precision import PRECISIONS
from workloads.cost import find_cost

_SLOWEST_PCIE = 5.0  # times as long as the mean machine: 1.64 deviations of four
_SLOWEST_NETWORK = 2.0  # times as long as at its bandwidth: an assumption
_FLOAT8 = 1.2  # between the smallest and the largest saving of 13 published pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Device in one precision, with what it is predicted to need for the work of one step.

    Attributes:
        replicas: data-parallel replicas of one device.
        value_bytes: size of one value of a feature map in that precision.
        device_seconds, host_seconds: predicted for the work of the device alone, and of its host.
    """

    precision: str
    flops_per_second: float
    memory_bytes_per_second: float
    replicas: int
    value_bytes: int
    device_seconds: float
    host_seconds: float

    def is_as_strong_as(self, other: "Contender") -> bool:
        """Return whether it is at least as strong in everything."""
        return (
            self.flops_per_second >= other.flops_per_second
            and self.memory_bytes_per_second >= other.memory_bytes_per_second
            and self.replicas <= other.replicas
            and self.value_bytes <= other.value_bytes
        )


def ordered_seconds(asked: Contender, others: Iterable[Contender]) -> Contender:
    """Return the asked device with the shortest seconds of those that are at most as strong, or its own.

    Published steps of few networks may say that a weaker device is faster. One with higher peaks in
    everything does no work slower, and its host is no older. The exchange is added afterwards.
    """
    weaker = [other for other in others if asked.is_as_strong_as(other)]
    hosts = (other.host_seconds for other in weaker if other.precision == asked.precision)
    return replace(
        asked,
        device_seconds=min((asked.device_seconds, *(other.device_seconds for other in weaker))),
        host_seconds=min((asked.host_seconds, *hosts)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedParts:
    """Parts of a step before own measurements.

    Attributes:
        parts: before all effects, of which the order of devices moved some.
        moved: logarithm by which it moved the device's part.
    """

    parts: StepParts
    moved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEstimate:
    """Estimate of a step.

    Attributes:
        step: time of a step, or the reason for the refusal.
        seconds: seconds of a step, also of a refused one; None if unknown.
        hardware: key that is equal for steps on the same devices.
        device, workload: deviations of logarithms from those seconds: what all networks on that hardware
            share, and no other hardware has; and what is left.
        source: which published steps it is based on.
        query: query that it answers.
        ordered: parts that own measurements are compared with; None if unknown.
    """

    step: Estimate | Refusal
    seconds: float | None
    hardware: str
    device: float
    workload: float
    source: str
    query: StepQuery
    ordered: OrderedParts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _LikelyStep:
    """Parts of a step after the effects, with the deviations of the logarithm of their time."""

    parts: StepParts
    common: float
    whole: float

    @property
    def own(self) -> float:
        """Deviation that is not of the hardware alone."""
        return math.sqrt(max(self.whole**2 - self.common**2, 0.0))


def build_published_estimate(query: StepQuery, models: DefaultModels) -> PublishedEstimate:
    """Estimate any step from published ones, else refuse, and give its parts where those are known."""
    ordered = None if sizes_refusal(query, models) else _ordered_parts(query, models)
    refusal = find_refusal(query, models)
    return estimate_by(query, ordered, models, effects=models.effects, refusal=refusal)


def estimate_by(
    query: StepQuery,
    ordered: OrderedParts | None,
    models: DefaultModels,
    *,
    effects: CrossedEffects,
    refusal: Refusal | None,
) -> PublishedEstimate:
    """Estimate a step by effects of published steps, or of own ones too.

    Args:
        ordered: None only with a refusal.
    """
    likely, source = None, ""
    step: Estimate | Refusal | None = refusal
    if ordered is not None:
        labels = query.own_labels
        likely = _likely(ordered, effects.posterior(labels), effects.residual)
        kind, chosen = nearest(labels, models.steps)
        source = _name_source(query, kind, chosen)
        if step is None:
            deviation = math.hypot(likely.whole, _deviation_of_batches(query))
            factor = math.exp(models.quantile * deviation) * _find_doubt(query, likely.parts)
            is_known = query.family is not None or kind == "counts"
            is_tested = query.calibration is None and not _list_rarities(query) and is_known
            past = past_hits(kind) if is_tested else ""
            step = replace(around(likely.parts.seconds, factor=factor, source=source), past=past)
    assert step is not None, "steps without parts are refused"
    return PublishedEstimate(
        step=step,
        seconds=None if likely is None else likely.parts.seconds,
        hardware=f"{query.host_cpu or query.device.name} {query.precision} {query.num_workers} {query.hosts}",
        device=math.inf if likely is None else likely.common,
        workload=math.inf if likely is None else likely.own,
        source=source,
        query=query,
        ordered=ordered,
    )


def _find_doubt(query: StepQuery, parts: StepParts) -> float:
    """Return by which factor a step is shorter that hides its exchange, or longer if it or float8 is slow."""
    float8 = _FLOAT8 if query.arithmetic != query.precision else 1.0
    if query.shards == 1 and query.hosts == 1:
        return float8
    work = parts.seconds - parts.exchange
    hidden = max(work, parts.exchange / (PCIE_SECONDS if query.crosses_pcie else 1.0))
    slowest = _SLOWEST_PCIE if query.crosses_pcie else _SLOWEST_NETWORK if query.is_over_network else 1.0
    return float8 * max(parts.seconds / hidden, (work + slowest * parts.exchange) / parts.seconds)


def _deviation_of_batches(query: StepQuery) -> float:
    """Return the deviation of the mean batch of a trial from the counted mean, for samples of unequal length.

    Both are means of drawn batches: of those that were counted, and of the steps that a trial times at least.
    """
    cost = find_cost(query.spec)
    assert cost is not None, "a script is refused before it runs"
    batches = cost.lengths_at(query.global_batch_size)
    protocol = TimingSpec()
    timed = protocol.min_blocks * protocol.steps_per_block
    return batches.deviation * math.sqrt(1 / batches.drawn + 1 / timed)


def _ordered_parts(query: StepQuery, models: DefaultModels) -> OrderedParts | None:
    """Return the parts by the figures of the user's machine; of a published device, with its order."""
    parts = query.parts(models.parts)
    if parts is None or query.is_unpublished_float8:
        return None
    if query.calibration is not None:
        return OrderedParts(parts=parts, moved=0.0)
    device, host = models.effects.means(query.own_labels)
    asked = _contender(
        query.peaks, query.arithmetic, parts.times(device=math.exp(device), host=math.exp(host))
    )
    moved = ordered_seconds(asked, _contenders(query, models))
    return OrderedParts(
        parts=parts.times(
            device=moved.device_seconds / asked.device_seconds, host=moved.host_seconds / asked.host_seconds
        ),
        moved=math.log(moved.device_seconds / asked.device_seconds),
    )


def _likely(ordered: OrderedParts, posterior: EffectsPosterior, residual: float) -> _LikelyStep:
    """Apply the effects, and propagate their deviations to the logarithm of the step."""
    parts = ordered.parts.times(device=math.exp(posterior.device), host=math.exp(posterior.host))
    device, host = parts.device_share, parts.host_share
    common = device**2 * posterior.device_common + host**2 * posterior.host_common
    whole = (
        device**2 * (posterior.device_variance + ordered.moved**2)
        + host**2 * posterior.host_variance
        + 2 * device * host * posterior.covariance
        + residual**2
    )
    return _LikelyStep(parts=parts, common=math.sqrt(min(common, whole)), whole=math.sqrt(whole))


def _contenders(query: StepQuery, models: DefaultModels) -> Iterator[Contender]:
    """Yield all devices of that kind in the bundled models, in all precisions, with the same step."""
    fitted = [name for name, settings in PRECISIONS.items() if not settings.float8]
    for peaks in models.devices:
        for precision in fitted:
            if peaks.kind == query.device.kind and precision in peaks.flops_per_second:
                parts = query.parts_on(peaks, precision, models.parts)
                if parts is not None:
                    device, host = models.effects.means(query.labels(peaks, precision))
                    likely = parts.times(device=math.exp(device), host=math.exp(host))
                    yield _contender(peaks, precision, likely)


def _contender(peaks: DevicePeaks, precision: str, likely: StepParts) -> Contender:
    assert peaks.memory_bytes_per_second is not None, "a device without it has no parts of a step"
    return Contender(
        precision=precision,
        flops_per_second=peaks.flops_per_second[precision],
        memory_bytes_per_second=peaks.memory_bytes_per_second,
        replicas=peaks.replicas,
        value_bytes=PRECISIONS[precision].value_bytes,
        device_seconds=likely.device,
        host_seconds=likely.host,
    )


def _name_source(query: StepQuery, kind: BasisKind, chosen: Sequence[StepLabels]) -> str:
    """Name the basis: a calibration of the user's device, and the published steps."""
    precision = precision_label(query.arithmetic)
    published = describe_step_basis(kind, chosen, name=query.spec.name, precision=precision)
    calibrated = ["launches and peaks calibrated here"] if query.calibration else []
    return "; ".join((published, *calibrated, *_list_rarities(query)))


def _list_rarities(query: StepQuery) -> list[str]:
    """Return what such a step has that few published steps of its family have, or none."""
    few = [f"{query.hosts} hosts at {query.network_gbps:g} Gb/s"] if query.is_over_network else []
    few += ["PCIe, of which four machines were published"] if query.crosses_pcie else []
    few += ["float8 by 13 pairs with bf16"] if query.arithmetic != query.precision else []
    again = ["blocks computed again"] if query.recomputation != "none" else []
    if query.is_transformer:
        found = again if query.recomputation == "selective" else []
    else:
        divided = [f"sum of {query.passes} micro batches"] if query.passes > 1 else []
        found = [*divided, *again, *(["weights gathered from shards"] if query.shards > 1 else [])]
    return [*few, *(f"{what}, in no published step" for what in found)]
