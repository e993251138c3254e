"""Estimate of a step from the bundled models, which are fitted to published measurements. Pure."""

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.predict.step_time.analytic import DevicePeaks, StepParts, around
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.calibration import calibrated_effects, calibrated_parts
from orchestrator.predict.step_time.crossed_effects import EffectsPosterior, StepLabels
from orchestrator.predict.step_time.device_order import Contender, ordered_seconds
from orchestrator.predict.step_time.refusals import refusal_of, sizes_refusal
from orchestrator.predict.step_time.step_query import StepQuery, network_label, precision_label
from orchestrator.train.precision import PRECISIONS

_MOST_NAMED = 3
_BITS = {"half": "16 bit"}  # fp16 and bf16 have effects in common
_UNLIKE = 2.0
"""Factor on the spread of workloads where others measured nothing alike: an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEstimate:
    """Estimate of a step before own measurements.

    Attributes:
        step: time of a step, or the reason for the refusal.
        seconds: seconds of a step, corrected by own measurements; None if unknown.
        peers: key that is equal for steps whose measurements correct each other.
        device, workload: deviations of logarithms from those seconds, as in `ErrorPrior`: what all networks
            on the machine share, and what is left of each.
        source: which published steps it is based on.
    """

    step: Estimate | Refusal
    seconds: float | None
    peers: Hashable
    device: float
    workload: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _LikelyStep:
    """Parts of a step after the effects, with the deviations of the logarithm of their time."""

    parts: StepParts
    common: float
    whole: float

    @property
    def own(self) -> float:
        """Deviation that networks on one machine do not share."""
        return math.sqrt(max(self.whole**2 - self.common**2, 0.0))


def published_estimate_of(query: StepQuery, models: DefaultModels) -> PublishedEstimate:
    """Estimate any step from published ones, else refuse, and give its parts where those are known."""
    refusal = refusal_of(query, models)
    parts = None if sizes_refusal(query, models) else _parts(query, query.peaks, query.precision, models)
    likely = None if parts is None else _likely(query, parts, models)
    source = _source_of(query, models)
    return PublishedEstimate(
        step=refusal or _estimate(likely, models, source),
        seconds=None if likely is None else likely.parts.seconds,
        peers=(query.device.name, query.precision, query.num_workers, _peers(query)),
        device=math.inf if likely is None or query.family is None else likely.common,
        workload=_UNLIKE * models.prior.workload if likely is None or query.family is None else likely.own,
        source=source,
    )


def _estimate(likely: _LikelyStep | None, models: DefaultModels, source: str) -> Estimate:
    assert likely is not None, "steps without parts are refused"
    factor = math.exp(models.quantile * likely.whole)
    return around(likely.parts.seconds, factor=factor, source=source)


def _peers(query: StepQuery) -> str:
    if query.family is None:
        return query.spec.name
    return "" if query.family == "classifier" else query.family


def _parts(query: StepQuery, peaks: DevicePeaks, precision: str, models: DefaultModels) -> StepParts | None:
    """Return the parts of the step before all effects; None where a peak is unknown, or the operations."""
    demand = query.demand_in(precision)
    if not demand.layers:
        return None
    return models.parts.parts(demand, peaks=peaks, precision=precision, num_workers=query.num_workers)


def _likely(query: StepQuery, parts: StepParts, models: DefaultModels) -> _LikelyStep:
    """Apply the effects that published steps have in common with this one, and order the devices."""
    labels, calibration = query.labels(query.peaks, query.precision), query.calibration
    if calibration is not None and calibration.tells_work(query.precision):
        labels = _of_an_unknown_device(labels)
    posterior = models.effects.posterior(labels)
    if calibration is not None:
        parts = calibrated_parts(parts, calibration)
        posterior = calibrated_effects(
            posterior, calibration=calibration, precision=query.precision, deviations=models.deviations
        )
    found = parts.times(device=math.exp(posterior.device), host=math.exp(posterior.host))
    moved = 1.0 if query.family is None or calibration is not None else _order(query, found, models)
    return _with_deviations(found.times(device=moved, host=1.0), posterior, models, moved=math.log(moved))


def _of_an_unknown_device(labels: StepLabels) -> StepLabels:
    return replace(labels, device="")


def _with_deviations(
    parts: StepParts, posterior: EffectsPosterior, models: DefaultModels, *, moved: float
) -> _LikelyStep:
    """Propagate the deviations of the effects to the logarithm of the step.

    Args:
        moved: logarithm by which the order of devices moved the device's part.
    """
    device, host = parts.device_share, parts.host_share
    common = device**2 * posterior.device_common + host**2 * posterior.host_common
    whole = (
        device**2 * (posterior.device_variance + moved**2)
        + host**2 * posterior.host_variance
        + 2 * device * host * posterior.covariance
        + models.effects.residual**2
    )
    return _LikelyStep(parts=parts, common=math.sqrt(min(common, whole)), whole=math.sqrt(whole))


def _order(query: StepQuery, found: StepParts, models: DefaultModels) -> float:
    """Return the factor on the device's part that makes no stronger device slower."""
    asked = _contender(query.peaks, query.precision, found.device)
    return ordered_seconds(asked, _contenders(query, models)) / found.device


def _contenders(query: StepQuery, models: DefaultModels) -> Iterator[Contender]:
    """Yield all devices of that kind in the bundled models, in all precisions, with the same step."""
    for peaks in models.devices:
        for precision in PRECISIONS:
            if peaks.kind == query.device.kind and precision in peaks.flops_per_second:
                parts = _parts(query, peaks, precision, models)
                if parts is not None:
                    effect = models.effects.device_effect(query.labels(peaks, precision))
                    yield _contender(peaks, precision, parts.device * math.exp(effect))


def _contender(peaks: DevicePeaks, precision: str, seconds: float) -> Contender:
    assert peaks.memory_bytes_per_second is not None, "a device without it has no parts of a step"
    return Contender(
        flops_per_second=peaks.flops_per_second[precision],
        memory_bytes_per_second=peaks.memory_bytes_per_second,
        replicas=peaks.replicas,
        value_bytes=PRECISIONS[precision].value_bytes,
        seconds=seconds,
    )


def _source_of(query: StepQuery, models: DefaultModels) -> str:
    """Name the basis: a calibration of the user's device, and the published steps."""
    published = _published_source_of(query, models)
    return f"{published}; launches and peaks calibrated here" if query.calibration else published


def _published_source_of(query: StepQuery, models: DefaultModels) -> str:
    """Name the published steps that have most in common with the asked one."""
    if query.family is None:
        return "rough, for others measured nothing alike"
    network, precision = network_label(query.spec.name, query.demand), precision_label(query.precision)
    there = [
        step.labels
        for step in models.steps
        if (step.labels.device, step.labels.precision) == (query.device.name, precision)
    ]
    same = [step.labels for step in models.steps if step.labels.network == network]
    alike = [step.labels for step in models.steps if step.labels.family == query.family]
    name, bits = query.spec.name, _BITS.get(precision, precision)
    for words, chosen in (
        (f"{name} there in {bits}", [labels for labels in there if labels.network == network]),
        (f"other networks there in {bits}", [labels for labels in there if labels.family == query.family]),
        (f"rough: {name} elsewhere", same),
        ("rough: other networks elsewhere", alike),
    ):
        if chosen:
            return f"{words} ({_laboratories(chosen)})"
    return "rough: nothing alike was published"


def _laboratories(chosen: Iterable[StepLabels]) -> str:
    names = [*dict.fromkeys(labels.laboratory for labels in chosen)]
    others = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")
