"""(what others measured, own measurements) -> a function from a trial to the time of its step.

The best that there is: own measurements of the very step; what others measured, corrected by own measurements
on that device; published measurements; or a refusal with the reason.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from types import MappingProxyType

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import Option, TrialSpec
from orchestrator.predict.step_time.analytic import around
from orchestrator.predict.step_time.bundled_models import DefaultModels
from orchestrator.predict.step_time.calibration import HostCalibration
from orchestrator.predict.step_time.error_model import ErrorPrior, learned_from
from orchestrator.predict.step_time.own_records import Shape, StepMeasurement, repeated, step_key
from orchestrator.predict.step_time.published_estimate import PublishedEstimate, published_estimate_of
from orchestrator.predict.step_time.step_query import StepQuery
from workloads.registry import workload

BasisOf = Callable[[TrialSpec], PublishedEstimate]
"""Estimates the step of a trial on one of the requested devices."""

Correction = Callable[[PublishedEstimate, str | None], Estimate | Refusal]
"""(basis, trainer; None: any) -> the estimate, after own measurements on that device were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CalibrationPoint:
    """Measurement, with the logarithm of its time over its sum of parts."""

    own: StepMeasurement
    log: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """A ratio to multiply a sum of parts by, and the factor of its interval to both sides."""

    ratio: float
    factor: float
    source: str


def corrector_of(basis_of_trial: BasisOf, own: Iterable[StepMeasurement], prior: ErrorPrior) -> Correction:
    """Correct estimates by own measurements of steps with the same `PublishedEstimate.peers`."""
    peers: dict[Hashable, list[_CalibrationPoint]] = defaultdict(list)
    for measurement in own:
        basis = basis_of_trial(measurement.trial)
        if basis.seconds is not None:
            peers[basis.peers].append(
                _CalibrationPoint(own=measurement, log=math.log(measurement.step_seconds / basis.seconds))
            )

    @cache  # the same for all steps with these peers
    def lesson(key: Hashable, trainer: str | None, device: float, workload: float) -> _Lesson:
        records = peers[key]
        chosen = [point for point in records if point.own.trial.trainer == trainer] or records
        return _lesson_of(chosen, device=device, workload=workload, prior=prior)

    def corrected(basis: PublishedEstimate, trainer: str | None) -> Estimate | Refusal:
        if basis.seconds is None or basis.peers not in peers:
            return basis.step
        learned = lesson(basis.peers, trainer, basis.device, basis.workload)
        source = f"{learned.source}; {basis.source}"
        return around(learned.ratio * basis.seconds, factor=learned.factor, source=source)

    return corrected


def _lesson_of(
    peers: Sequence[_CalibrationPoint], *, device: float, workload: float, prior: ErrorPrior
) -> _Lesson:
    by_workload: dict[str, list[float]] = defaultdict(list)
    for peer in peers:
        by_workload[peer.own.trial.workload].append(peer.log)
    logs = [fmean(posterior) for posterior in by_workload.values()]
    posterior = learned_from(logs, device=device, workload=workload, freedom=prior.freedom)
    source = describe_sources([peer.own for peer in peers])
    return _Lesson(
        ratio=math.exp(posterior.mean),
        factor=math.exp(prior.quantile * posterior.deviation),
        source=f"own records there of {', '.join(sorted(by_workload))}: {source}",
    )


def describe_sources(own: Sequence[StepMeasurement]) -> str:
    """`3 of sweep zoo`, `4 of sweeps smoke, zoo`."""
    sweeps = sorted({measurement.sweep for measurement in own})
    return f"{len(own):,} of sweep{'s' if len(sweeps) > 1 else ''} {', '.join(sweeps)}"


_NOT_ALIKE = Refusal(reason="devices that are not alike are not modelled", to_measure="this point")

Estimator = Callable[[TrialSpec], Estimate | Refusal]

CompiledOf = Callable[[TrialSpec], Estimate | None]
"""Estimates the step of a trial from what the device's compiler told; None: it told no time."""


def no_compiler(_: TrialSpec) -> None:
    """Return no estimate, for estimators that compare with measurements."""


def bases_of(
    devices: Mapping[str, Device],
    models: DefaultModels,
    calibrations: Mapping[str, HostCalibration] = MappingProxyType({}),
) -> BasisOf:
    """Build a cached estimate from published data; trainers share it, because large networks take
    milliseconds.

    Args:
        devices: name -> device, at least those of all requested trials.
        calibrations: name of a device -> what was measured of the user's own one.
    """

    @cache
    def basis(
        name: str,
        options: tuple[tuple[str, Option], ...],
        device: str,
        precision: str,
        workers: int,
        batch: int,
    ) -> PublishedEstimate:
        query = StepQuery(
            spec=workload(name, dict(options)),
            device=devices[device],
            precision=precision,
            num_workers=workers,
            global_batch_size=batch,
            calibration=calibrations.get(device),
        )
        return published_estimate_of(query, models)

    def of_trial(trial: TrialSpec) -> PublishedEstimate:
        options = tuple(sorted(trial.workload_options.items()))
        work = (trial.workload, options, trial.device, trial.precision)
        return basis(*work, trial.num_workers, trial.global_batch_size)

    return of_trial


def estimator_of(
    basis_of_trial: BasisOf,
    own: Sequence[StepMeasurement],
    prior: ErrorPrior,
    compiled_of: CompiledOf = no_compiler,
) -> Estimator:
    """All that is known is used: own records of the very step, else the compiler, else published data."""
    corrected = corrector_of(basis_of_trial, own, prior)
    same: dict[Shape, list[StepMeasurement]] = defaultdict(list)
    for measurement in own:
        same[step_key(measurement.trial)].append(measurement)

    def estimate(trial: TrialSpec) -> Estimate | Refusal:
        if trial.other_devices:
            return _NOT_ALIKE
        repeats = same.get(step_key(trial))
        if repeats:
            return measured_step(repeats, prior)
        return compiled_of(trial) or corrected(basis_of_trial(trial), trial.trainer)

    return estimate


def leave_one_workload_out_estimator(
    basis_of_trial: BasisOf, own: Iterable[StepMeasurement], prior: ErrorPrior
) -> Estimator:
    """Build an estimator that leaves out the trial's own workload; records of other workloads stay in the
    fit.
    """
    records = tuple(own)

    @cache
    def without(name: str) -> Estimator:
        return estimator_of(
            basis_of_trial,
            [measurement for measurement in records if measurement.trial.workload != name],
            prior,
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
