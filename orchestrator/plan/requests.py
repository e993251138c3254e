"""(sweep, what is here) -> every trial that the sweep asks for, with the slots that it could run in. Pure.

It is the larger half of planning and does not depend on records, so it is done once where a sweep is planned
again: after a compiler refused a step, or where another driver has added records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.core.errors import UnknownNameError
from orchestrator.core.inventory import Inventory
from orchestrator.core.settings import StartMethodChoice
from orchestrator.core.sweep import Point, Sweep
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import trial_id
from orchestrator.plan.place import PlacementRequest
from orchestrator.plan.slots import count_hosts, find_host_cpu, find_slots
from orchestrator.plan.trial_specs import DataIds, build_trial, build_workload, unsuitable


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPoint:
    """A point with one placement request per repeat, or the reason why its workload takes no such input."""

    point: Point
    requests: tuple[PlacementRequest, ...] = ()
    unsuitable: str | None = None


def request_trials(
    sweep: Sweep,
    *,
    inventory: Inventory,
    trainers: Mapping[str, TrainerInfo],
    start_methods: Mapping[str, StartMethodChoice],
    data_ids: DataIds,
) -> tuple[RequestedPoint, ...]:
    """Find the trials of every point, in the order of the sweep.

    Args:
        start_methods: requested start method of every trainer in the sweep.
        data_ids: value for every key of `data_needed(sweep)`.

    Raises:
        ConfigError: a point with values that no trial can have, or an unknown trainer.
    """

    def requests_for(point: Point) -> Iterator[PlacementRequest]:
        if point.trainer not in trainers:
            raise UnknownNameError("trainer", point.trainer, known=trainers)
        trainer = trainers[point.trainer]
        slots = find_slots(point, trainer, inventory=inventory)
        # a trial on CPUs names the host that would really run it
        host_cpu = find_host_cpu(point, slots, inventory=inventory)
        num_hosts = count_hosts(point, slots)
        for repeat in range(sweep.repeats):
            trial = build_trial(
                point, repeat, trainer=trainer, data_ids=data_ids, host_cpu=host_cpu, num_hosts=num_hosts
            )
            yield PlacementRequest(
                trial=trial,
                trial_id=trial_id(trial),
                point=point,
                trainer=trainer,
                slots=slots,
                start_method=start_methods[point.trainer],
            )

    reasons = ((point, unsuitable(point) or _too_long(point, trainers)) for point in sweep.points)
    return tuple(
        RequestedPoint(point=point, unsuitable=reason)
        if reason
        else RequestedPoint(point=point, requests=tuple(requests_for(point)))
        for point, reason in reasons
    )


def _too_long(point: Point, trainers: Mapping[str, TrainerInfo]) -> str | None:
    """Explain that the schedulers of a user's PyTorch job end before the trial; None: they do not."""
    spec, trainer = build_workload(point), trainers.get(point.trainer)
    if spec.most_steps is None or point.steps <= spec.most_steps:
        return None
    if trainer is None or trainer.framework != "torch":
        return None
    return (
        f"the job's scheduler fails after {spec.most_steps:,} steps, the trial takes {point.steps:,}; "
        "make the scheduler for as many, or set steps"
    )
