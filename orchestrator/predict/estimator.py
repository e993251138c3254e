"""(devices, fitted models) -> a function from a trial to the time of its step, or why there is none."""

from collections.abc import Callable, Mapping
from functools import cache

from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.spec import Option, TrialSpec
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.estimate import Asked, step_of
from workloads.registry import workload

Estimator = Callable[[TrialSpec], Estimate | Refusal]


def estimator_of(devices: Mapping[str, Device], models: DefaultModels) -> Estimator:
    """What trainers share is worked out once, for the counts of a large network take milliseconds.

    Args:
        devices: by name, with those of all trials that will be asked about.
    """

    @cache
    def step(
        name: str,
        options: tuple[tuple[str, Option], ...],
        device: str,
        precision: str,
        workers: int,
        batch: int,
    ) -> Estimate | Refusal:
        asked = Asked(
            spec=workload(name, dict(options)),
            device=devices[device],
            precision=precision,
            num_workers=workers,
            global_batch_size=batch,
        )
        return step_of(asked, models)

    def estimate(trial: TrialSpec) -> Estimate | Refusal:
        options = tuple(sorted(trial.workload_options.items()))
        work = (trial.workload, options, trial.device, trial.precision)
        return step(*work, trial.num_workers, trial.global_batch_size)

    return estimate
