"""(plan, market, fitted models) -> what is thought of the trials whose device is not at hand. Pure."""

from collections import defaultdict
from collections.abc import Hashable
from functools import cache

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.forecast import Forecast
from orchestrator.core.placement import Plan
from orchestrator.core.spec import Option, TrialSpec
from orchestrator.plan.prices import Market
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.estimate import Asked, step_of
from orchestrator.predict.shape import shape_of
from orchestrator.train.registry import trainers
from workloads.registry import workload


def forecasts_of(plan: Plan, market: Market, models: DefaultModels) -> tuple[Forecast, ...]:
    """One for trials that differ in their seed alone, in the order of the plan, if they train anything."""
    training = {name for name, each in trainers().items() if each.trains}
    alike: dict[Hashable, list[TrialSpec]] = defaultdict(list)
    for trial in plan.absent:
        if trial.trainer in training:
            alike[shape_of(trial), trial.steps].append(trial)

    @cache  # trainers share it, and the analytic counts of a large network take milliseconds
    def step(
        name: str,
        options: tuple[tuple[str, Option], ...],
        device: str,
        precision: str,
        num_workers: int,
        global_batch_size: int,
    ) -> Estimate | Refusal:
        asked = Asked(
            spec=workload(name, dict(options)),
            device=market.devices[device],
            precision=precision,
            num_workers=num_workers,
            global_batch_size=global_batch_size,
        )
        return step_of(asked, models)

    return tuple(
        Forecast(
            trial=first,
            num_trials=1 + len(others),
            step=step(
                first.workload,
                tuple(sorted(first.workload_options.items())),
                first.device,
                first.precision,
                first.num_workers,
                first.global_batch_size,
            ),
            price=market.price_where_it_is(first),
        )
        for first, *others in alike.values()
    )
