"""(what others measured, own measurements) -> a function from a trial to the time of its step.

The best that there is: own measurements of the very step; what others measured, corrected by own measurements
on that device; what others measured; or why there is none of these.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.spec import Option, TrialSpec
from orchestrator.predict.analytic import around
from orchestrator.predict.basis import Asked, Basis, basis_of
from orchestrator.predict.corrector import BasisOf, corrector_of, told_of
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.own import Own, repeated
from orchestrator.predict.prior import Prior
from orchestrator.predict.shape import Shape, shape_of
from workloads.registry import workload

_NOT_ALIKE = Refusal(reason="devices that are not alike are not modelled", to_measure="this point")

Estimator = Callable[[TrialSpec], Estimate | Refusal]


def bases_of(devices: Mapping[str, Device], models: DefaultModels) -> BasisOf:
    """What others measured; what trainers share is worked out once, for large networks take milliseconds.

    Args:
        devices: by name, with those of all trials that will be asked about.
    """

    @cache
    def basis(
        name: str,
        options: tuple[tuple[str, Option], ...],
        device: str,
        precision: str,
        workers: int,
        batch: int,
    ) -> Basis:
        asked = Asked(
            spec=workload(name, dict(options)),
            device=devices[device],
            precision=precision,
            num_workers=workers,
            global_batch_size=batch,
        )
        return basis_of(asked, models)

    def of_trial(trial: TrialSpec) -> Basis:
        options = tuple(sorted(trial.workload_options.items()))
        work = (trial.workload, options, trial.device, trial.precision)
        return basis(*work, trial.num_workers, trial.global_batch_size)

    return of_trial


def estimator_of(basis_of_trial: BasisOf, own: Sequence[Own], prior: Prior) -> Estimator:
    """All that is known is used."""
    corrected = corrector_of(basis_of_trial, own, prior)
    same: dict[Shape, list[Own]] = defaultdict(list)
    for each in own:
        same[shape_of(each.trial)].append(each)

    def estimate(trial: TrialSpec) -> Estimate | Refusal:
        if trial.other_devices:
            return _NOT_ALIKE
        repeats = same.get(shape_of(trial))
        return measured_step(repeats, prior) if repeats else corrected(basis_of_trial(trial), trial.trainer)

    return estimate


def blind_estimator_of(basis_of_trial: BasisOf, own: Iterable[Own], prior: Prior) -> Estimator:
    """Of each trial, as if there were no own records of its workload; those of others stay in the fit."""
    known = tuple(own)

    @cache
    def without(name: str) -> Estimator:
        return estimator_of(basis_of_trial, [each for each in known if each.trial.workload != name], prior)

    return lambda trial: without(trial.workload)(trial)


def measured_step(own: Sequence[Own], prior: Prior) -> Estimate:
    """Of repeats of one step, at least one."""
    found = repeated(own, prior)
    return around(
        math.exp(found.mean),
        factor=math.exp(prior.quantile * found.deviation),
        source=f"own records of this very step: {told_of(own)}",
    )
