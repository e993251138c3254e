"""Predictions for trials of a plan without their device, and hindcasts of measured ones. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from statistics import median

from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run
from orchestrator.core.estimate import Estimate, Forecast, Refusal, TrackRecord
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec, trial_id
from orchestrator.extensions.predictions.memory_need import LARGER_OR_SMALLER, MemoryNeed
from orchestrator.extensions.predictions.step_time.estimator import Estimator
from orchestrator.extensions.predictions.step_time.own_records import Shape, StepMeasurement, step_key
from orchestrator.plan.pricing import PriceBook
from orchestrator.train.registry import trainers
from workloads.registry import cached_workload


def build_forecasts(
    plan: Plan,
    price_book: PriceBook,
    estimate: Estimator,
    find_memory: Callable[[TrialSpec], MemoryNeed | None] = lambda _: None,
) -> tuple[Forecast, ...]:
    """One for trials that differ in their seed alone, in the order of the plan, if they train anything."""

    def predict(trial: TrialSpec) -> Estimate | Refusal:
        memory = find_memory(trial)
        misfit = memory.describe_misfit(trial.device) if memory else ""
        return Refusal(reason=misfit, to_measure=LARGER_OR_SMALLER) if misfit else estimate(trial)

    training = {name for name, info in trainers().items() if info.trains}
    alike: dict[Hashable, list[TrialSpec]] = defaultdict(list)
    for trial in plan.absent:
        if trial.trainer in training:
            alike[step_key(trial), trial.steps, trial.timing.target].append(trial)
    return tuple(
        Forecast(
            trial=first,
            num_trials=1 + len(others),
            step=predict(first),
            price=price_book.price_of_absent(first),
            num_phases=len(cached_workload(first.workload, first.workload_options).phases),
        )
        for first, *others in alike.values()
    )


def predict_backtests(
    plan: Plan, records: Iterable[TrialRecord], estimate: Estimator
) -> Mapping[str, Estimate]:
    """Predict every measured point of the plan afterwards, by the trial_id of its first repeat; refusals are
    left out.

    Args:
        estimate: knows nothing of the workloads of these records.
    """
    trials = {
        *(cached_trial.trial_id for cached_trial in plan.cached),
        *(placement.trial_id for placement in plan.placements),
    }
    measured = [record for record in records if record.trial_id in trials and is_run(record)]
    points = {trial_id(first): first for first in (replace(record.spec, repeat=0) for record in measured)}
    estimates = {point: estimate(trial) for point, trial in points.items()}
    return {point: step for point, step in estimates.items() if isinstance(step, Estimate)}


def count_track_record(own: Iterable[StepMeasurement], estimate: Estimator) -> TrackRecord:
    """Count how many intervals held, once per measured step.

    Args:
        estimate: an estimator that has seen no record of the same workload.
    """
    steps: dict[Shape, list[StepMeasurement]] = defaultdict(list)
    for measurement in own:
        steps[step_key(measurement.trial)].append(measurement)
    compared = [
        (estimate(alike[0].trial), median(measurement.step_seconds for measurement in alike))
        for alike in steps.values()
    ]
    inside = [step.holds(seconds) for step, seconds in compared if isinstance(step, Estimate)]
    return TrackRecord(num_inside=sum(inside), num_measured=len(inside))
