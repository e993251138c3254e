"""(requested trials, what is here, what is recorded) -> plan: every point placed, cached or skipped. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.core.errors import ConfigError
from orchestrator.core.inventory import Inventory
from orchestrator.core.memory_fit import NoFit, Verdict
from orchestrator.core.placement import (
    Aim,
    Baseline,
    Cached,
    Failed,
    FullTraining,
    Outdated,
    Placement,
    Plan,
    Provenance,
    Skipped,
)
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import MissingDevice, Rerun
from orchestrator.core.sweep import Point, Sweep
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.plan.cache import (
    CachedResults,
    list_failures,
    results_by_trial,
    stale,
    without_outdated,
    would_fail_again,
)
from orchestrator.plan.compatibility import reason_against, reason_against_build
from orchestrator.plan.inputs import describe_input
from orchestrator.plan.memory import MemoryKey, memory_key
from orchestrator.plan.place import PlacementRequest, in_order, place
from orchestrator.plan.requests import RequestedPoint
from orchestrator.plan.trial_specs import TrainSamples, build_workload, find_tasks
from workloads.spec import Workload

PointDecision = Placement | Cached | Failed | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanInputs:
    """Inputs of planning besides the sweep."""

    inventory: Inventory
    environments: Mapping[str, TrainerEnvironment]
    answers: CachedResults
    failures: CachedResults
    code_sha256: str
    missing_device: MissingDevice
    rerun: Rerun
    memory_fits: Mapping[MemoryKey, Verdict | NoFit]


def plan(
    sweep: Sweep,
    requested: Sequence[RequestedPoint],
    *,
    inventory: Inventory,
    environments: Mapping[str, TrainerEnvironment],
    train_samples: TrainSamples,
    records: Sequence[TrialRecord],
    code_sha256: str,
    missing_device: MissingDevice,
    rerun: Rerun,
    memory_fits: Mapping[MemoryKey, Verdict | NoFit] = MappingProxyType({}),
    outdated: Mapping[str, Outdated] = MappingProxyType({}),
) -> Plan:
    """Decide for every point: each repeat measured, one rehearsal, one reason against it, or its records.

    Args:
        requested: the trials of the sweep's points, from `request_trials` with the same inventory.
        environments: probed environment of every trainer in the sweep.
        train_samples: value for every workload with its options of the sweep, by `task_name`.
        records: records of all sweeps.
        code_sha256: hash of the current code, ours and the user's.
        rerun: trials to run although records of them exist.
        memory_fits: what is known about the memory of steps; a point that does not fit is skipped.
        outdated: results that answer no trial, by its trial_id.

    Raises:
        ConfigError: a trial to be run again that this sweep does not have.
        PlacementError: a device is not here and `missing_device` is `fail`.
    """
    current = without_outdated(records, outdated)
    inputs = _PlanInputs(
        inventory=inventory,
        environments=environments,
        answers=results_by_trial(current),
        failures=list_failures(current),
        code_sha256=code_sha256,
        missing_device=missing_device,
        rerun=rerun,
        memory_fits=memory_fits,
    )
    decided = [decision for asked in requested for decision in _decide(asked, inputs=inputs)]
    outcomes, tasks = _each_trial_once(decided), find_tasks(sweep.points)
    _check_rerun(rerun, outcomes, sweep=sweep.name)
    placements = in_order([outcome for outcome in outcomes if isinstance(outcome, Placement)])
    return Plan(
        sweep=sweep.name,
        placements=placements,
        cached=tuple(outcome for outcome in outcomes if isinstance(outcome, Cached)),
        skipped=tuple(outcome for outcome in outcomes if isinstance(outcome, Skipped)),
        failed=tuple(outcome for outcome in outcomes if isinstance(outcome, Failed)),
        baseline=_baseline(sweep, requested),
        aims=_find_aims(tasks),
        trainings={
            name: build_full_training(build_workload(point), point, train_samples.get(name))
            for name, point in tasks.items()
        },
        inputs={name: words for name, point in tasks.items() if (words := describe_input(point))},
        memory=find_memory(placements, memory_fits),
        outdated=outdated,
    )


def find_memory(
    placements: Iterable[Placement], memory_fits: Mapping[MemoryKey, Verdict | NoFit]
) -> Mapping[str, Verdict | NoFit]:
    """Return what is known about the memory of every trial to run, by its trial_id."""
    keys = {placement.trial_id: memory_key(placement.trial) for placement in placements}
    return {trial: memory_fits[key] for trial, key in keys.items() if key in memory_fits}


def _baseline(sweep: Sweep, requested: Iterable[RequestedPoint]) -> Baseline | None:
    if not sweep.baseline:
        return None
    firsts = (asked.requests[0].trial_id for asked in requested if asked.point.is_baseline and asked.requests)
    return Baseline(keys=sweep.baseline, points=tuple(dict.fromkeys(firsts)))


def _check_rerun(rerun: Rerun, outcomes: Iterable[PointDecision], *, sweep: str) -> None:
    trial_ids = {outcome.trial_id for outcome in outcomes if not isinstance(outcome, Skipped)}
    unknown = sorted(rerun.trial_ids - trial_ids)
    if unknown:
        raise ConfigError(f"--rerun {unknown[0]}: sweep {sweep!r} has no such trial; plan --all has all ids")


def _find_aims(tasks: Mapping[str, Point]) -> Mapping[str, Aim]:
    """Return the aim of every task that has a quality, by its name."""
    qualities = {name: build_workload(point).quality for name, point in tasks.items()}
    return {
        name: Aim(metric=quality.metric, higher_is_better=quality.higher_is_better)
        for name, quality in qualities.items()
        if quality is not None
    }


def build_full_training(spec: Workload, point: Point, train_samples: int | None) -> FullTraining:
    """Return the full training of a point's workload."""
    return FullTraining(
        epochs=None if spec.epochs is None else float(spec.epochs),
        train_samples=train_samples,
        samples=spec.count_all_samples(point.global_batch_size),
        tokens_per_sample=spec.tokens_per_sample,
    )


def _each_trial_once(outcomes: Iterable[PointDecision]) -> tuple[PointDecision, ...]:
    """Points that differ in words alone, as `data=auto,standin` may, are one trial: it runs once."""
    distinct: dict[str | int, PointDecision] = {}
    for number, outcome in enumerate(outcomes):
        name = number if isinstance(outcome, Skipped) else outcome.trial_id
        distinct.setdefault(name, outcome)
    return tuple(distinct.values())


def _decide(asked: RequestedPoint, *, inputs: _PlanInputs) -> Iterator[PointDecision]:
    point = asked.point
    if asked.unsuitable:
        yield Skipped(point=point.name, reason=asked.unsuitable)
        return
    unanswered = []
    for request in asked.requests:
        answer = _answer(request, "measured", inputs=inputs)
        if answer:
            yield answer
        else:
            unanswered.append(request)
    if not unanswered:
        return
    environment = inputs.environments[point.trainer]
    fit = inputs.memory_fits.get(memory_key(unanswered[0].trial))
    against_build = reason_against_build(point, environment) if unanswered[0].is_measured else None
    reason = (
        reason_against(point, unanswered[0].trainer)
        or environment.missing
        or environment.precision_missing.get(point.precision)
        or against_build
        or (fit.words(point.device.name) if isinstance(fit, Verdict) and not fit.fits else None)
    )
    if reason:
        yield Skipped(point=point.name, reason=reason, trial=unanswered[0].trial)
    elif unanswered[0].is_measured:
        yield from (_placed(request, inputs=inputs) for request in unanswered)
    else:  # one outcome for all repeats of a point whose device is not here, or a fake one
        first = unanswered[0]
        yield _rehearsed_before(first, inputs=inputs) or _placed(first, inputs=inputs)


def _placed(request: PlacementRequest, *, inputs: _PlanInputs) -> PointDecision:
    return place(request, inventory=inputs.inventory, missing_device=inputs.missing_device)


def _rehearsed_before(request: PlacementRequest, *, inputs: _PlanInputs) -> Cached | Failed | None:
    """Return the answer of an earlier rehearsal in the same pools; None: there is none."""
    if not request.slots and inputs.missing_device != "rehearse":
        return None
    asks: tuple[str, Provenance] = (request.trial_id, "rehearsed")
    record = inputs.answers.get(asks) or inputs.failures.get(asks)
    if record is None or record.placement.pools != request.pools:
        return None
    return _answer(request, "rehearsed", inputs=inputs)


def _answer(
    request: PlacementRequest, provenance: Provenance, *, inputs: _PlanInputs
) -> Cached | Failed | None:
    """Return the cached result or remembered failure of a trial, unless it is to be run again."""
    if request.trial_id in inputs.rerun.trial_ids:
        return None
    asks = (request.trial_id, provenance)
    environment = inputs.environments[request.trial.trainer]
    if record := inputs.answers.get(asks):
        changed = stale(record, environment)
        return Cached(trial=request.trial, trial_id=request.trial_id, provenance=provenance, stale=changed)
    failed = inputs.failures.get(asks)
    if failed is None or failed.failure is None or inputs.rerun.failed:
        return None
    if not would_fail_again(failed, environment, code_sha256=inputs.code_sha256):
        return None
    return Failed(
        trial=request.trial,
        trial_id=request.trial_id,
        provenance=provenance,
        kind=failed.failure.kind,
        message=failed.failure.message,
    )
