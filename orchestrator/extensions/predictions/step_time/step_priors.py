"""(predicted steps, fitted models) -> priors of step times, and the model of their errors. Pure."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache

from orchestrator.core.estimate import ErrorModel, Estimate, Refusal, StepPrior
from orchestrator.core.placement import Plan
from orchestrator.core.trial_spec import TrialSpec, trial_id
from orchestrator.extensions.predictions.memory_need import MemoryNeed
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels
from orchestrator.extensions.predictions.step_time.estimator import (
    BasisOf,
    CompiledOf,
    Correction,
    build_corrector,
)
from orchestrator.extensions.predictions.step_time.loader_rates import NO_LOADERS, LoaderRates
from orchestrator.extensions.predictions.step_time.own_records import StepMeasurement
from orchestrator.extensions.predictions.step_time.published_estimate import PublishedEstimate
from orchestrator.train.registry import trainers
from workloads.registry import cached_workload


def fit_error_model(models: DefaultModels) -> ErrorModel:
    """Collect what the errors of predicted steps were in published measurements."""
    return ErrorModel(correlation=models.kinship, repeat=models.prior.repeat, quantile=models.prior.quantile)


def step_prior(
    step: Estimate | Refusal, basis: PublishedEstimate, *, memory: MemoryNeed | None, quantile: float
) -> StepPrior | None:
    """Split the error of a predicted step into that of its hardware and that of its network there.

    Args:
        step: prediction without own records of the workload: that of a compiler, or of the basis.
        basis: the same without a compiler.
        memory: what is known about the memory of a replica.
        quantile: deviations to both sides of its interval.

    Returns:
        None: nothing is predicted.
    """
    if isinstance(step, Refusal) or (memory and memory.fits is False):
        return None
    deviation = math.log(step.high / step.likely) / quantile
    network = min(deviation, basis.workload)
    return StepPrior(
        hardware=basis.hardware,
        program=basis.query.memory_settings.words,
        batch_size=basis.query.global_batch_size,
        log_seconds=math.log(step.likely),
        device=math.sqrt(deviation**2 - network**2),
        network=network,
        provenance=step.provenance,
        doubt=memory.doubt if memory else "",
    )


def predict_step_priors(
    plan: Plan,
    basis_of_trial: BasisOf,
    own: Iterable[StepMeasurement],
    models: DefaultModels,
    find_compiled_estimate: CompiledOf,
    loader_rates: LoaderRates = NO_LOADERS,
    find_memory: Callable[[TrialSpec], MemoryNeed | None] = lambda _: None,
) -> Mapping[str, StepPrior]:
    """Predict the steps of all trials of a plan, those without their device too, by first repeat's trial_id.

    Trainings in phases have none: the step of the last phase is no estimate of the others.
    """
    records = tuple(own)
    training = {name for name, info in trainers().items() if info.trains}

    @cache
    def corrected_without(name: str) -> Correction:
        return build_corrector(basis_of_trial, [one for one in records if one.trial.workload != name], models)

    priors: dict[str, StepPrior] = {}
    for first_id, trial in _first_repeats(plan, training).items():
        if trial.other_devices or len(cached_workload(trial.workload, trial.workload_options).phases) > 1:
            continue
        basis = corrected_without(trial.workload)(basis_of_trial(trial), None)
        prior_of_trial = step_prior(
            loader_rates.limit(find_compiled_estimate(trial) or basis.step, trial),
            basis,
            memory=find_memory(trial),
            quantile=models.quantile,
        )
        if prior_of_trial is not None:
            priors[first_id] = prior_of_trial
    return priors


def _first_repeats(plan: Plan, trainer_names: Collection[str]) -> Mapping[str, TrialSpec]:
    """Return the first repeat of every setting that one of these trainers trains, by its trial_id."""
    asked = [one for one in plan.asked if one.trial.trainer in trainer_names]
    known = {one.trial_id: one.trial for one in asked if one.trial.repeat == 0}
    absent = [trial for trial in plan.absent if trial.trainer in trainer_names]
    others = [one.trial for one in asked if one.trial.repeat]
    firsts = (replace(trial, repeat=0) if trial.repeat else trial for trial in (*others, *absent))
    return known | {trial_id(first): first for first in firsts}
