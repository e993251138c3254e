"""Inputs of one command's predictions: models, this host, prices, and the records of all sweeps."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.recommendation.jobs.settings_of_records import is_failed_run, is_run
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.inventory import Inventory
from orchestrator.core.memory_fit import NoFit, Verdict
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.calibrations import host_calibrations
from orchestrator.extensions.predictions.queries import build_step_query, find_unsuitable
from orchestrator.extensions.predictions.step_breakdown import StepBreakdown, find_step_breakdown
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels, default_models
from orchestrator.extensions.predictions.step_time.compiled_estimate import compiled_estimate
from orchestrator.extensions.predictions.step_time.estimator import (
    Correction,
    build_bases,
    build_corrector,
)
from orchestrator.extensions.predictions.step_time.loader_rates import LoaderRates, collect_loader_rates
from orchestrator.extensions.predictions.step_time.own_records import (
    StepMeasurement,
    find_fastest,
    of_source,
    step_measurements,
)
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from orchestrator.pipeline.compilation import FindAnswers, find_earlier_answers
from orchestrator.pipeline.components import build_price_book
from orchestrator.pipeline.preflight import build_inventory, find_data, load_ledgers
from orchestrator.pipeline.script_files import without_changed_files
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.slots import Slot, count_hosts, find_host_cpu, find_slots
from orchestrator.plan.trial_specs import is_current
from orchestrator.train.registry import trainer_info
from workloads.spec import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInputs:
    """Inputs of one command's predictions.

    Attributes:
        alike, records_alike: own measurements, and the newest records, by
            `_identity_of_trial`.
        loader_rates: rates of the input loaders of own workloads.
        find_earlier_answers: finds what plans compiled and counted of points that differ in their trainer
            alone.
        calibrations: name of a device, or of a CPU as `Node.host_cpu` -> what `predict calibrate` measured.
    """

    settings: Settings
    models: DefaultModels
    inventory: Inventory
    price_book: PriceBook
    own: tuple[StepMeasurement, ...]
    alike: Mapping[Hashable, Sequence[StepMeasurement]]
    records_alike: Mapping[Hashable, Sequence[TrialRecord]]
    loader_rates: LoaderRates
    find_earlier_answers: FindAnswers
    calibrations: Mapping[str, DeviceBenchmark]

    @property
    def points(self) -> Iterable[Point]:
        """Points of the sweep, once per hardware and data source; refused ones apart."""
        points = self.settings.sweep.points
        return {(self.identity(one), one.data_source, find_unsuitable(one)): one for one in points}.values()

    def corrected_by(self, own: Iterable[StepMeasurement]) -> Correction:
        """Correct the published estimates by own measurements."""
        settings, known = self.settings, (self.models, self.calibrations)
        bases = build_bases(settings.sweep.devices, *known, network_gbps=settings.network_gbps)
        return build_corrector(bases, own, self.models)

    def find_repeats(self, point: Point) -> tuple[StepMeasurement, ...]:
        """Return own measurements of exactly this step; of several trainers, those of the fastest."""
        alike = self.alike.get(self.identity(point), ())
        return find_fastest(of_source(alike, point.data_source, build_spec=lambda one: one.trial))

    def load_records(self, point: Point) -> tuple[TrialRecord, ...]:
        """Return records of trainings in the setting, from the first data source that has any."""
        alike = self.records_alike.get(self.identity(point), ())
        return of_source(alike, point.data_source, build_spec=lambda record: record.spec)

    def count_train_samples(self, spec: Workload, point: Point) -> int | None:
        """Return the number of samples of the full training set; None if unknown or without the data."""
        if spec.data_description or spec.train_samples:
            return spec.train_samples
        try:
            ref = find_data(self.settings, *spec.find_data_key(point.data_source), download=False)
        except ConfigError:
            return None
        return spec.count_train_samples(ref)

    def find_price(self, point: Point, instance: str = "") -> Price | Unpriced:
        """Return the price of the point where its device is, or of the instance that was asked for."""
        num_hosts = count_hosts(point, self.find_slots(point))
        return self.price_book.price_where_it_is(
            point.device.name, point.num_workers, num_hosts=num_hosts, instance=instance
        )

    def build_query(self, point: Point) -> StepQuery | Refusal:
        """Build the query of a point's step, or refuse it."""
        query = build_step_query(point)
        if isinstance(query, Refusal):
            return query
        host_cpu = self.find_host_cpu(point)
        calibration = self.calibrations.get(host_cpu or point.device.name)
        network_gbps = self.settings.network_gbps
        return replace(query, calibration=calibration, host_cpu=host_cpu, network_gbps=network_gbps)

    def find_answers(self, points: Iterable[Point]) -> tuple[Estimate | None, Verdict | NoFit | None]:
        """Return the compiled time and the verdict on memory of points that differ in their trainer alone."""
        compiled, fit = self.find_earlier_answers(points)
        return compiled_estimate(compiled) if compiled else None, fit

    def find_breakdown(self, point: Point, query: StepQuery) -> StepBreakdown | None:
        """Find the parts of the point's step; None: a peak or the operations are unknown."""
        parts, seconds = find_step_breakdown(query, self.models), self.loader_rates.seconds(point)
        return parts if parts is None or seconds is None else replace(parts, loader=seconds)

    def find_slots(self, point: Point) -> tuple[Slot, ...]:
        """Find the slots of the point's workers."""
        return find_slots(point, trainer_info(point.trainer), inventory=self.inventory)

    def is_rented(self, point: Point) -> bool:
        """Return whether a machine starts for the point: a pool has its devices, or they are not here."""
        slots = self.find_slots(point)
        return not slots or any(slot.node_group.pool for slot in slots)

    def find_host_cpu(self, point: Point) -> str | None:
        """Return the CPU models of the hosts that would compute on their CPUs."""
        return find_host_cpu(point, self.find_slots(point), inventory=self.inventory)

    def identity(self, point: Point) -> Hashable:
        """Return the key of equal predictions, which do not depend on the trainer."""
        slots = self.find_slots(point)
        return (
            point.workload,
            tuple(sorted(point.workload_options.items())),
            point.device.name,
            _name_arithmetic(point),
            point.num_workers,
            count_hosts(point, slots),
            point.global_batch_size,
            point.memory_settings,
            self.find_host_cpu(point),
        )


def find_inputs(settings: Settings) -> PredictionInputs:
    """Find what predictions use: models, this host, prices and the records of all sweeps.

    Raises:
        RecordError: the sweep's own records cannot be read.
    """
    records = tuple(record for records in load_ledgers(settings).values() for record in records)
    if any(point.workload == "script" for point in settings.sweep.points):
        records = without_changed_files(records, are_here=settings.cluster is None or settings.is_fake)
    own = step_measurements(records, devices=settings.sweep.devices)
    alike: dict[Hashable, list[StepMeasurement]] = defaultdict(list)
    for measurement in own:
        alike[_identity_of_trial(measurement.trial)].append(measurement)
    records_alike: dict[Hashable, list[TrialRecord]] = defaultdict(list)
    for record in latest(records).values():
        has_run = is_run(record) or is_failed_run(record)
        if has_run and not record.spec.other_devices and is_current(record.spec):
            records_alike[_identity_of_trial(record.spec)].append(record)
    return PredictionInputs(
        settings=settings,
        models=default_models(),
        inventory=build_inventory(settings),
        price_book=build_price_book(settings),
        own=own,
        alike=alike,
        records_alike=records_alike,
        loader_rates=collect_loader_rates(latest(records).values()),
        find_earlier_answers=find_earlier_answers(settings),
        calibrations=host_calibrations(settings),
    )


def _name_arithmetic(one: Point | TrialSpec) -> Hashable:
    """Return the precision; of fp8 also whether a compiler fuses its casts, which decides its time."""
    return one.precision, one.precision == "fp8" and one.trainer_options.get("compile")


def _identity_of_trial(trial: TrialSpec) -> Hashable:
    """Return the identity of the point that the trial belongs to."""
    return (
        trial.workload,
        tuple(sorted(trial.workload_options.items())),
        trial.device,
        _name_arithmetic(trial),
        trial.num_workers,
        trial.num_hosts,
        trial.global_batch_size,
        trial.memory_settings,
        trial.host_cpu,
    )
