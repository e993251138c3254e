"""The story of predictions: words -> points, their times and costs, what to measure; nothing is started."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.analysis.frame import frame_of
from orchestrator.analysis.measured import measured_of
from orchestrator.analysis.splits import splits_of
from orchestrator.config.load import load
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.inventory import Inventory
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.spec import TrialSpec
from orchestrator.core.sweep import Point
from orchestrator.plan.prices import price_of
from orchestrator.plan.sites import nodes_of
from orchestrator.predict.aim import Aim
from orchestrator.predict.basis import Asked, basis_of
from orchestrator.predict.candidates import Candidate
from orchestrator.predict.corrector import corrector_of
from orchestrator.predict.defaults import DefaultModels, default_models
from orchestrator.predict.estimator import bases_of, measured_step
from orchestrator.predict.job_advice import JobAdvice, advice_of
from orchestrator.predict.own import Own, besides_seconds_of, fastest_of, is_current, of_source, own_of
from orchestrator.predict.prediction_table import Prediction, job_in_words
from orchestrator.predict.split_outlook import SplitOutlook, require_known, split_outlooks
from orchestrator.record.ledger import read_ledgers
from orchestrator.situation import inventory_of
from orchestrator.train.registry import trainer_info
from workloads.registry import workload

_NO_SWEEP = "+sweep=single"
_COMMAND = "python -m orchestrator"

_MeasuredOf = Callable[[Point], tuple[Own, ...]]
"""Own repeats of the very step of a point, of several trainers those of the fastest."""


def predicted(overrides: Sequence[str], *, working_directory: Path) -> tuple[Prediction, ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: words that cannot be understood.
        RecordError: the sweep's own records cannot be read.
    """
    settings, models = _settings(overrides, working_directory), default_models()
    own = own_of(_records(settings), devices=settings.sweep.devices)
    corrected = corrector_of(bases_of(settings.sweep.devices, models), own, models.prior)
    inventory = inventory_of(settings)
    measured = _measured_of(own, inventory)

    def step_of(point: Point, asked: Asked) -> Estimate | Refusal:
        repeats = measured(point)
        return measured_step(repeats, models.prior) if repeats else corrected(basis_of(asked, models), None)

    asked = [(point, _asked(point)) for point in _distinct(settings.sweep.points, inventory)]
    return tuple(
        Prediction(
            point=point,
            roofline=each.roofline,
            step=step_of(point, each),
            price=_price_of(point, settings),
        )
        for point, each in asked
    )


def advised(overrides: Sequence[str], *, confidence: float, working_directory: Path) -> tuple[JobAdvice, ...]:
    """Say of each workload of a sweep which setting leads, and what to measure until that is clear.

    Args:
        confidence: from which on it is.

    Raises:
        ConfigError: words that cannot be understood, or a wish that no prediction can answer.
        RecordError: the sweep's own records cannot be read.
    """
    settings, models = _settings(overrides, working_directory), default_models()
    aim = Aim(wish=settings.wish, confidence=confidence, budget_usd=settings.budget.usd)
    aim.check(settings.prices)
    records = _records(settings)
    own, inventory = own_of(records, devices=settings.sweep.devices), inventory_of(settings)
    measured = _measured_of(own, inventory)
    jobs: dict[str, list[Point]] = defaultdict(list)
    for point in _distinct(settings.sweep.points, inventory):
        jobs[job_in_words(point)].append(point)
    return tuple(
        advice_of(
            job,
            _candidates(points, own, measured, models, settings),
            aim,
            prior=models.prior,
            kinship=models.kinship,
            besides_seconds=besides_seconds_of(records),
        )
        for job, points in jobs.items()
    )


def split(overrides: Sequence[str], *, working_directory: Path) -> tuple[SplitOutlook, ...]:
    """Say of each point of a sweep that would split convolutions over several workers what that brings.

    Raises:
        ConfigError: words that cannot be understood, no such point, or nothing is known of any of them.
        RecordError: the sweep's own records cannot be read.
    """
    settings = _settings(overrides, working_directory)
    workloads = {point.workload for point in settings.sweep.points}
    own = latest(
        each for each in _records(settings) if each.spec.workload in workloads and is_current(each.spec)
    )
    families = splits_of(measured_of(frame_of(own.values())), own.values())
    found = split_outlooks(settings.sweep.points, families)
    require_known(found, command=" ".join((_COMMAND, *_with_sweep(overrides))))
    return found


def _candidates(
    points: Sequence[Point],
    own: Sequence[Own],
    measured: _MeasuredOf,
    models: DefaultModels,
    settings: Settings,
) -> list[Candidate]:
    """Of one workload, each estimated as if nothing of it had been measured."""
    others = [each for each in own if each.trial.workload != points[0].workload]
    corrected = corrector_of(bases_of(settings.sweep.devices, models), others, models.prior)
    bases = [(point, basis_of(_asked(point), models)) for point in points]
    return [
        Candidate(
            point=point,
            hardware=basis.peers,
            network=basis.workload,
            step=corrected(basis, None),
            measured=measured(point),
            price=_price_of(point, settings),
        )
        for point, basis in bases
    ]


def _settings(overrides: Sequence[str], working_directory: Path) -> Settings:
    return load(_with_sweep(overrides), working_directory=working_directory)


def _with_sweep(overrides: Sequence[str]) -> list[str]:
    names_sweep = any(word.startswith("+sweep=") for word in overrides)
    return [*([] if names_sweep else [_NO_SWEEP]), *overrides]


def _records(settings: Settings) -> tuple[TrialRecord, ...]:
    ledgers = read_ledgers(settings.outputs, sweep=settings.sweep.name)
    return tuple(each for records in ledgers.values() for each in records)


def _price_of(point: Point, settings: Settings) -> Price | Unpriced:
    today = datetime.now(UTC).date().isoformat()
    return price_of(point.device, point.num_workers, prices=settings.prices, today=today)


def _distinct(points: Iterable[Point], inventory: Inventory) -> Iterable[Point]:
    """Each hardware once, of each source of data."""
    return {(_identity(point, inventory), point.data_source): point for point in points}.values()


def _asked(point: Point) -> Asked:
    return Asked(
        spec=workload(point.workload, point.workload_options),
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
    )


def _measured_of(own: Iterable[Own], inventory: Inventory) -> _MeasuredOf:
    alike: dict[object, list[Own]] = defaultdict(list)
    for each in own:
        alike[_identity_of_trial(each.trial)].append(each)
    return lambda point: fastest_of(of_source(alike[_identity(point, inventory)], point.data_source))


def _identity(point: Point, inventory: Inventory) -> object:
    """What a prediction depends on beside the data: not on the trainer."""
    node, num_hosts = nodes_of(point, trainer_info(point.trainer), inventory=inventory)
    return (
        point.workload,
        tuple(sorted(point.workload_options.items())),
        point.device.name,
        point.precision,
        point.num_workers,
        num_hosts,
        point.global_batch_size,
        node.host_cpu if point.device.kind == "cpu" else None,
    )


def _identity_of_trial(trial: TrialSpec) -> object:
    """The same for a trial of that point."""
    return (
        trial.workload,
        tuple(sorted(trial.workload_options.items())),
        trial.device,
        trial.precision,
        trial.num_workers,
        trial.num_hosts,
        trial.global_batch_size,
        trial.host_cpu,
    )
