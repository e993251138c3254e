"""(what others measured, own measurements) -> a function from a trial to the time of its step.

The best that there is: own measurements of the very step; what others measured, corrected by own measurements
of other steps; published measurements; or a refusal with the reason.

A user is one more laboratory: a measured step updates the effects of the device and of the host by their
shares of its time. The shares depend on these effects, so both are found in a few rounds (the iterated Kalman
filter's: Bell and Cathey 1993). Steps with the same labels and alike shares count as one, their mean.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from types import MappingProxyType
from typing import Any

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import Option, TrialSpec
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.analytic import StepParts, around
from orchestrator.extensions.predictions.step_time.basis import OwnKind
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels, past_hits
from orchestrator.extensions.predictions.step_time.crossed_effects import (
    CrossedEffects,
    PublishedStep,
    StepLabels,
)
from orchestrator.extensions.predictions.step_time.error_model import ErrorPrior
from orchestrator.extensions.predictions.step_time.loader_rates import NO_LOADERS, LoaderRates
from orchestrator.extensions.predictions.step_time.own_records import (
    Shape,
    StepMeasurement,
    repeated,
    step_key,
)
from orchestrator.extensions.predictions.step_time.published_estimate import (
    PublishedEstimate,
    build_published_estimate,
    estimate_by,
)
from orchestrator.extensions.predictions.step_time.refusals import find_refusal
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.registry import workload

BasisOf = Callable[[TrialSpec], PublishedEstimate]
"""Estimates the step of a trial on one of the requested devices."""

Correction = Callable[[PublishedEstimate, str | None], PublishedEstimate]
"""(basis, trainer; None: any) -> the estimate, after own measurements were looked at."""
_SETTINGS = ("precision", "num_workers", "global_batch_size", "num_hosts", "memory_settings", "host_cpu")
_ROUNDS = 4
_CLASSES = 4  # of shares


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """Own measured step.

    Attributes:
        parts: before all effects.
    """

    labels: StepLabels
    parts: StepParts
    seconds: float


def effects_given(effects: CrossedEffects, own: Sequence[OwnStep]) -> CrossedEffects:
    """Return the effects of published steps after own ones."""
    found = effects
    for _ in range(_ROUNDS):
        found = effects.given(_condensed([_at_effects(step, found) for step in own]))
    return found


def _at_effects(step: OwnStep, effects: CrossedEffects) -> PublishedStep:
    """Return a step with the shares that its parts have after the effects."""
    device, host = effects.means(step.labels)
    parts = step.parts.times(device=math.exp(device), host=math.exp(host))
    shares = parts.device_share, parts.host_share
    left = math.log(step.seconds / parts.seconds)
    return PublishedStep(
        labels=step.labels,
        device_share=shares[0],
        host_share=shares[1],
        log=left + shares[0] * device + shares[1] * host,
    )


def _condensed(steps: Sequence[PublishedStep]) -> list[PublishedStep]:
    alike: Mapping[Hashable, list[PublishedStep]] = defaultdict(list)
    for step in steps:
        alike[step.labels, round(_CLASSES * step.host_share)].append(step)
    return [
        replace(
            same[0],
            device_share=fmean(step.device_share for step in same),
            host_share=fmean(step.host_share for step in same),
            log=fmean(step.log for step in same),
        )
        for same in alike.values()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Own measurement beside its prediction from others' steps."""

    own: StepMeasurement
    basis: PublishedEstimate


def build_corrector(
    basis_of_trial: BasisOf, own: Iterable[StepMeasurement], models: DefaultModels
) -> Correction:
    """Correct estimates by own measurements, those of the same trainer if there are any."""
    bases = ((measurement, basis_of_trial(measurement.trial)) for measurement in own)
    compared = [_Compared(own=one, basis=basis) for one, basis in bases if basis.ordered is not None]

    @cache  # the same for all steps
    def chosen_for(trainer: str | None) -> tuple[list[_Compared], CrossedEffects]:
        chosen = [one for one in compared if one.own.trial.trainer == trainer] or compared
        return chosen, effects_given(models.effects, [_own_step(one) for one in chosen])

    @cache
    def find_basis(device: str, network: str, trainer: str | None) -> tuple[OwnKind, str]:
        return _find_basis(chosen_for(trainer)[0], device=device, network=network)

    def corrected(basis: PublishedEstimate, trainer: str | None) -> PublishedEstimate:
        if basis.ordered is None or not compared:
            return basis
        chosen, effects = chosen_for(trainer)
        query = basis.query
        refusal = find_refusal(query, models, own=[one.basis.query for one in chosen])
        found = estimate_by(query, basis.ordered, models, effects=effects, refusal=refusal)
        if isinstance(found.step, Refusal):
            return found
        kind, basis_text = find_basis(query.own_labels.device, query.own_labels.network, trainer)
        source = f"{basis_text}; {basis.source}"
        return replace(found, step=replace(found.step, source=source, past=past_hits(kind)))

    return corrected


def _own_step(compared: _Compared) -> OwnStep:
    basis = compared.basis
    assert basis.ordered is not None, "steps without parts are compared with nothing"
    return OwnStep(
        labels=basis.query.own_labels, parts=basis.ordered.parts, seconds=compared.own.step_seconds
    )


def _find_basis(compared: Sequence[_Compared], *, device: str, network: str) -> tuple[OwnKind, str]:
    """Name the own measurements that have most in common with a step, at least one of all."""
    there = [one for one in compared if one.basis.query.own_labels.device == device]
    same = [one for one in compared if one.basis.query.own_labels.network == network]
    cases: tuple[tuple[OwnKind, Sequence[_Compared]], ...] = (
        ("own network there", [one for one in there if one.basis.query.own_labels.network == network]),
        ("own there", there),
        ("own network elsewhere", same),
        ("own elsewhere", compared),
    )
    kind, chosen = next((kind, chosen) for kind, chosen in cases if chosen)
    names = ", ".join(sorted({one.own.trial.workload for one in chosen}))
    where = "on other devices" if kind.endswith("elsewhere") else "on this device"
    return kind, f"own records {where} of {names}: {describe_sources([one.own for one in chosen])}"


def describe_sources(own: Sequence[StepMeasurement]) -> str:
    """`3 of sweep zoo`, `4 of sweeps smoke, zoo`; `1 of sweep zoo, noisy`."""
    sweeps = sorted({measurement.sweep for measurement in own})
    noisy = ", noisy" if any(one.is_noisy for one in own) else ""
    return f"{len(own):,} of sweep{'s' if len(sweeps) > 1 else ''} {', '.join(sweeps)}{noisy}"


_NOT_ALIKE = Refusal(reason="devices that are not alike are not modelled", to_measure="this point")

Estimator = Callable[[TrialSpec], Estimate | Refusal]

CompiledOf = Callable[[TrialSpec], Estimate | None]
"""Estimates the step of a trial from the answer of the device's compiler; None: it has no time."""


def no_compiler(_: TrialSpec) -> None:
    """Return no estimate, for estimators that compare with measurements."""


def build_bases(
    devices: Mapping[str, Device],
    models: DefaultModels,
    calibrations: Mapping[str, DeviceBenchmark] = MappingProxyType({}),
    *,
    network_gbps: float | None = None,
) -> BasisOf:
    """Build a cached estimate from published data; trainers share it, because large networks take
    milliseconds.

    Args:
        devices: name -> device, at least those of all requested trials.
        calibrations: name of a device, or of a CPU as `Node.host_cpu` -> what was measured of it.
        network_gbps: bandwidth between a host and the others; None: unknown.
    """

    @cache
    def basis(
        name: str, options: tuple[tuple[str, Option], ...], device: str, **settings: Any
    ) -> PublishedEstimate:
        query = StepQuery(
            spec=workload(name, dict(options)),
            device=devices[device],
            calibration=calibrations.get(settings["host_cpu"] or device),
            network_gbps=network_gbps,
            **settings,
        )
        return build_published_estimate(query, models)

    def of_trial(trial: TrialSpec) -> PublishedEstimate:
        options = tuple(sorted(trial.workload_options.items()))
        settings = {name: getattr(trial, name) for name in _SETTINGS}
        is_compiled = trial.trainer_options.get("compile") == "on"
        return basis(trial.workload, options, trial.device, is_compiled=is_compiled, **settings)

    return of_trial


def build_estimator(
    basis_of_trial: BasisOf,
    own: Sequence[StepMeasurement],
    models: DefaultModels,
    find_compiled_estimate: CompiledOf = no_compiler,
    loader_rates: LoaderRates = NO_LOADERS,
) -> Estimator:
    """All that is known is used: own records of the very step, else the compiler, else published data."""
    corrected = build_corrector(basis_of_trial, own, models)
    same: dict[Shape, list[StepMeasurement]] = defaultdict(list)
    for measurement in own:
        same[step_key(measurement.trial)].append(measurement)

    def estimate(trial: TrialSpec) -> Estimate | Refusal:
        if trial.other_devices:
            return _NOT_ALIKE
        repeats = same.get(step_key(trial))
        if repeats:
            return measured_step(repeats, models.prior)
        step = find_compiled_estimate(trial) or corrected(basis_of_trial(trial), trial.trainer).step
        return loader_rates.limit(step, trial)

    return estimate


def leave_one_workload_out_estimator(
    basis_of_trial: BasisOf, own: Iterable[StepMeasurement], models: DefaultModels
) -> Estimator:
    """Build an estimator that leaves out the trial's own workload; records of other workloads stay in the
    fit.
    """
    records = tuple(own)

    @cache
    def without(name: str) -> Estimator:
        return build_estimator(
            basis_of_trial,
            [measurement for measurement in records if measurement.trial.workload != name],
            models,
        )

    return lambda trial: without(trial.workload)(trial)


def measured_step(own: Sequence[StepMeasurement], prior: ErrorPrior) -> Estimate:
    """Estimate a step from its own repeats, at least one."""
    posterior = repeated(own, prior)
    return around(
        math.exp(posterior.mean),
        factor=math.exp(prior.quantile * posterior.deviation),
        source=f"own records of this very step: {describe_sources(own)}",
    )
