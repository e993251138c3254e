"""The story of predictions: words -> points, their times and costs, what to measure; nothing is started."""

import shlex
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.analysis.frame import frame_of
from orchestrator.analysis.measured import measured_of
from orchestrator.analysis.splits import splits_of
from orchestrator.config.load import load
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.inventory import Inventory
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.spec import TrialSpec
from orchestrator.core.sweep import Point
from orchestrator.means import market_of
from orchestrator.plan.prices import Market
from orchestrator.plan.sites import Berth, berths_of, host_cpu_of, hosts_of
from orchestrator.plan.trials import unsuitable, workload_of
from orchestrator.predict.basis import Asked, basis_of
from orchestrator.predict.contenders import Contender
from orchestrator.predict.corrector import Corrected, corrector_of
from orchestrator.predict.defaults import DefaultModels, default_models
from orchestrator.predict.estimator import bases_of, measured_step
from orchestrator.predict.job_advice import JobAdvice, advice_of
from orchestrator.predict.jobs import jobs_of
from orchestrator.predict.own import Own, besides_seconds_of, fastest_of, is_current, of_source, own_of
from orchestrator.predict.prediction_table import Prediction
from orchestrator.predict.split_outlook import SplitOutlook, require_known, split_outlooks
from orchestrator.predict.terms import Terms
from orchestrator.situation import inventory_of, ledgers_of, today
from orchestrator.train.registry import trainer_info

_NO_SWEEP = "+sweep=single"
_COMMAND = "python -m orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the predictions of one command stand on.

    Attributes:
        alike: own measurements, by what `_identity_of_trial` makes of them.
    """

    settings: Settings
    models: DefaultModels
    inventory: Inventory
    market: Market
    records: tuple[TrialRecord, ...]
    own: tuple[Own, ...]
    alike: Mapping[Hashable, Sequence[Own]]

    @property
    def points(self) -> Iterable[Point]:
        """Of the sweep, each hardware once, of each source of data."""
        return {(self.identity(each), each.data_source): each for each in self.settings.sweep.points}.values()

    def corrected_by(self, own: Iterable[Own]) -> Corrected:
        """What others measured, corrected by these."""
        return corrector_of(bases_of(self.settings.sweep.devices, self.models), own, self.models.prior)

    def repeats_of(self, point: Point) -> tuple[Own, ...]:
        """Own measurements of its very step, of several trainers those of the fastest."""
        return fastest_of(of_source(self.alike.get(self.identity(point), ()), point.data_source))

    def price_of(self, point: Point) -> Price | Unpriced:
        """Where its device is."""
        num_hosts = hosts_of(point, self._berths_of(point))
        return self.market.price_where_it_is(point.device.name, point.num_workers, num_hosts=num_hosts)

    def _berths_of(self, point: Point) -> tuple[Berth, ...]:
        return berths_of(point, trainer_info(point.trainer), inventory=self.inventory)

    def host_cpu_of(self, point: Point) -> str | None:
        """Of the hosts whose processors would compute."""
        return host_cpu_of(point, self._berths_of(point), inventory=self.inventory)

    def identity(self, point: Point) -> Hashable:
        """What a prediction depends on beside the data: not on the trainer."""
        berths = self._berths_of(point)
        return (
            point.workload,
            tuple(sorted(point.workload_options.items())),
            point.device.name,
            point.precision,
            point.num_workers,
            hosts_of(point, berths),
            point.global_batch_size,
            self.host_cpu_of(point),
        )


def predicted(overrides: Sequence[str], *, working_directory: Path) -> tuple[Prediction, ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: words that cannot be understood.
        RecordError: the sweep's own records cannot be read.
    """
    known = _look(_settings(overrides, working_directory))
    models, corrected = known.models, known.corrected_by(known.own)

    def step_of(point: Point, asked: Asked) -> Estimate | Refusal:
        repeats = known.repeats_of(point)
        return measured_step(repeats, models.prior) if repeats else corrected(basis_of(asked, models), None)

    return tuple(
        Prediction(
            point=point,
            roofline=None if isinstance(asked, Refusal) else asked.roofline,
            step=asked if isinstance(asked, Refusal) else step_of(point, asked),
            price=known.price_of(point),
        )
        for point, asked in ((point, _asked(point)) for point in known.points)
    )


def advised(overrides: Sequence[str], *, confidence: float, working_directory: Path) -> tuple[JobAdvice, ...]:
    """Say of each workload of a sweep which setting leads, and what to measure until that is clear.

    Args:
        confidence: from which on it is.

    Raises:
        ConfigError: words that cannot be understood, or a wish that no prediction can answer.
        RecordError: the sweep's own records cannot be read.
    """
    settings = _settings(overrides, working_directory)
    terms = Terms(wish=settings.wish, confidence=confidence, budget_usd=settings.budget.usd)
    terms.check(settings.prices)
    known = _look(settings)
    return tuple(
        advice_of(
            job,
            _contenders(points, known),
            terms,
            prior=known.models.prior,
            kinship=known.models.kinship,
            besides_seconds=besides_seconds_of(known.records),
        )
        for job, points in jobs_of(settings.sweep.points, known.identity).items()
    )


def split(overrides: Sequence[str], *, working_directory: Path) -> tuple[SplitOutlook, ...]:
    """Say of each point of a sweep that would split convolutions over several workers what that brings.

    Raises:
        ConfigError: words that cannot be understood, no such point, or nothing is known of any of them.
        RecordError: the sweep's own records cannot be read.
    """
    known = _look(_settings(overrides, working_directory))
    asked = known.settings.sweep.points
    workloads = {point.workload for point in asked}
    own = latest(each for each in known.records if each.spec.workload in workloads and is_current(each.spec))
    families = splits_of(measured_of(frame_of(own.values())), own.values())
    found = split_outlooks(((point, known.host_cpu_of(point)) for point in asked), families)
    require_known(found, command=f"{_COMMAND} {shlex.join(_with_sweep(overrides))}")
    return found


def _contenders(points: Sequence[Point], known: _Known) -> list[Contender]:
    """Of one workload, each estimated as if nothing of it had been measured."""
    corrected = known.corrected_by(each for each in known.own if each.trial.workload != points[0].workload)
    return [_contender(point, known, corrected) for point in points]


def _contender(point: Point, known: _Known, corrected: Corrected) -> Contender:
    asked, price = _asked(point), known.price_of(point)
    if isinstance(asked, Refusal):
        hardware = known.identity(point)
        return Contender(point=point, hardware=hardware, network=0.0, step=asked, measured=(), price=price)
    basis = basis_of(asked, known.models)
    in_phases = _in_phases(asked)
    return Contender(
        point=point,
        hardware=basis.peers,
        network=basis.workload,
        step=in_phases or corrected(basis, None),
        measured=() if in_phases else known.repeats_of(point),
        price=price,
    )


def _in_phases(asked: Asked) -> Refusal | None:
    """Why steps tell nothing of a whole training; None: they do."""
    count = len(asked.spec.phases)
    if count == 1:
        return None
    return Refusal(
        reason=f"it trains in {count} phases, and steps of the last alone are timed",
        to_measure="all of them: a report compares whole trainings",
    )


def _settings(overrides: Sequence[str], working_directory: Path) -> Settings:
    settings = load(_with_sweep(overrides), working_directory=working_directory)
    for point in settings.sweep.points:
        if point.other_devices:
            raise ConfigError(
                f"devices that are not alike, as {point.device_label}, are not modelled; leave devices=… "
                f"out, and measure them: python -m orchestrator +sweep=NAME"
            )
    return settings


def _with_sweep(overrides: Sequence[str]) -> list[str]:
    names_sweep = any(word.startswith("+sweep=") for word in overrides)
    return [*([] if names_sweep else [_NO_SWEEP]), *overrides]


def _look(settings: Settings) -> _Known:
    records = tuple(each for records in ledgers_of(settings).values() for each in records)
    own = own_of(records, devices=settings.sweep.devices)
    alike: dict[Hashable, list[Own]] = defaultdict(list)
    for each in own:
        alike[_identity_of_trial(each.trial)].append(each)
    return _Known(
        settings=settings,
        models=default_models(),
        inventory=inventory_of(settings),
        market=market_of(settings, today=today()),
        records=records,
        own=own,
        alike=alike,
    )


def _asked(point: Point) -> Asked | Refusal:
    """Refused where the workload takes no input of that size."""
    reason = unsuitable(point)
    if reason is not None:
        return Refusal(reason=reason, to_measure="another size")
    return Asked(
        spec=workload_of(point),
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
    )


def _identity_of_trial(trial: TrialSpec) -> Hashable:
    """Equal to that of a point that it is a trial of."""
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
