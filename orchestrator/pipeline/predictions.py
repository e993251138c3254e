"""Predictions from overrides: points, their times and costs, and what to measure next; no trial starts."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse
from pathlib import Path

from orchestrator.analysis.formatting import first_names
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import in_phases
from orchestrator.analysis.recommendation.jobs.length import JobLength, known_length
from orchestrator.analysis.recommendation.jobs.settings_of_records import is_failed_run, is_run
from orchestrator.analysis.recommendation.model.criteria import build_criteria
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.config.loader import device_words, load
from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate, Misfit, Refusal
from orchestrator.core.inventory import Inventory
from orchestrator.core.memory_fit import Verdict
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.printable import command_text
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.pipeline.compilation import FindAnswers, find_earlier_answers
from orchestrator.pipeline.components import build_price_book, find_repeated_words, list_command_words
from orchestrator.pipeline.preflight import build_inventory, find_data, load_ledgers
from orchestrator.pipeline.script_files import without_changed_files
from orchestrator.plan.compatibility import find_reason_against_settings, reason_against
from orchestrator.plan.inputs import apply_published_size, describe_input
from orchestrator.plan.lighter_settings import list_lighter_settings
from orchestrator.plan.planner import build_full_training
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.slots import Slot, count_hosts, find_host_cpu, find_slots
from orchestrator.plan.trial_specs import build_workload, unsuitable
from orchestrator.predict.advised_jobs import KnownSetting, build_job, list_overrides
from orchestrator.predict.jobs import describe_job, group_jobs
from orchestrator.predict.memory_need import LARGER_OR_SMALLER, MemoryNeed
from orchestrator.predict.prediction_table import Prediction
from orchestrator.predict.step_breakdown import StepBreakdown, find_step_breakdown
from orchestrator.predict.step_time.bundled_models import DefaultModels, default_models
from orchestrator.predict.step_time.estimator import Correction, build_bases, build_corrector, measured_step
from orchestrator.predict.step_time.loader_rates import LoaderRates, collect_loader_rates
from orchestrator.predict.step_time.own_records import (
    StepMeasurement,
    find_fastest,
    is_current,
    of_source,
    step_measurements,
)
from orchestrator.predict.step_time.published_estimate import build_published_estimate
from orchestrator.predict.step_time.refusals import find_obstacle
from orchestrator.predict.step_time.step_priors import fit_error_model, step_prior
from orchestrator.predict.step_time.step_query import StepQuery
from orchestrator.record.calibrations import host_calibrations
from orchestrator.train.registry import trainer_info, trainers
from workloads.spec import Workload

_COUNTED_SMALLER = "what `plan` proposes, or a device with more memory"
_NO_SWEEP = "+sweep=single"
_DEFAULTS = ("data.source=auto ", "num_workers=1 ", "steps=", "seed=", "measure.")
"""Words with a blank, or their starts, that a command to measure a step leaves out: its time is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInputs:
    """Inputs of one command's predictions.

    Attributes:
        alike, records_alike: own measurements, and the newest records, by
            `_identity_of_trial`.
        loader_rates: rates of the input loaders of own workloads.
        find_answers: finds what plans compiled and counted of points that differ in their trainer alone.
        calibrations: name of a device, or of a CPU as `Node.host_cpu` -> what `predict calibrate` measured.
    """

    settings: Settings
    models: DefaultModels
    inventory: Inventory
    price_book: PriceBook
    records: tuple[TrialRecord, ...]
    own: tuple[StepMeasurement, ...]
    alike: Mapping[Hashable, Sequence[StepMeasurement]]
    records_alike: Mapping[Hashable, Sequence[TrialRecord]]
    loader_rates: LoaderRates
    find_answers: FindAnswers
    calibrations: Mapping[str, DeviceBenchmark]

    @property
    def points(self) -> Iterable[Point]:
        """Points of the sweep, once per hardware and data source; refused ones apart."""
        points = self.settings.sweep.points
        return {(self.identity(one), one.data_source, _find_refusal(one)): one for one in points}.values()

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
        query = _step_query(point)
        if isinstance(query, Refusal):
            return query
        host_cpu = self.find_host_cpu(point)
        calibration = self.calibrations.get(host_cpu or point.device.name)
        network_gbps = self.settings.network_gbps
        return replace(query, calibration=calibration, host_cpu=host_cpu, network_gbps=network_gbps)

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


def predicted(overrides: Sequence[str], *, working_directory: Path) -> tuple[Prediction, ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: an invalid override.
        RecordError: the sweep's own records cannot be read.
    """
    named = device_words(overrides, working_directory=working_directory)
    inputs = find_inputs(load_settings(named.words, working_directory))
    models, corrected = inputs.models, inputs.corrected_by(inputs.own)
    repeated = find_repeated_words(inputs.settings)
    alike: dict[Hashable, list[Point]] = defaultdict(list)
    for point in inputs.settings.sweep.points:
        alike[inputs.identity(point)].append(point)

    lengths: dict[Hashable, JobLength | None] = {}

    def find_length(spec: Workload, point: Point) -> JobLength | None:
        job = describe_job(point), point.global_batch_size
        if job not in lengths:
            training = build_full_training(spec, point, inputs.count_train_samples(spec, point))
            lengths[job] = known_length(training, inputs.settings.objective)
        return lengths[job]

    def build_prediction(point: Point) -> Prediction:
        answer = partial(
            Prediction,
            point=point,
            price=inputs.find_price(point, named.instances.get(point.device.name, "")),
            is_rented=inputs.is_rented(point),
            instance=named.instances.get(point.device.name),
            command=_find_command(point, repeated_words=repeated),
        )
        step: Estimate | Refusal | None
        if isinstance(query := inputs.build_query(point), Refusal):
            return answer(roofline=None, step=query)
        compiled, fit = inputs.find_answers(alike[inputs.identity(point)])
        memory = query.memory and replace(query.memory, counted=fit)
        if repeats := inputs.find_repeats(point):
            step = measured_step(repeats, models.prior)
        elif not (step := _too_large(point, query, memory)):
            step = compiled or corrected(build_published_estimate(query, models), None).step
            step = inputs.loader_rates.limit(step, point)
        return answer(
            roofline=query.roofline,
            step=step,
            has_run=bool(repeats),
            knows_network=query.is_over_network,
            memory=memory,
            breakdown=inputs.find_breakdown(point, query),
            length=find_length(query.spec, point),
            input=describe_input(point),
            tokens_per_sample=query.spec.tokens_per_sample,
        )

    return tuple(map(build_prediction, inputs.points))


def advised(
    overrides: Sequence[str], *, confidence: float | None, working_directory: Path
) -> tuple[Recommendation, ...]:
    """Recommend a setting for every workload of a sweep, and what to measure until the answer is settled.

    Uses the records of all sweeps.

    Args:
        confidence: probability above which an answer is settled; None: that of the search.

    Raises:
        ConfigError: an invalid override, or a goal that needs data that is missing.
        RecordError: the sweep's own records cannot be read.
    """
    settings = load_settings(overrides, working_directory)
    search = settings.search if confidence is None else replace(settings.search, confidence=confidence)
    criteria = build_criteria(search, settings.objective, budget_usd=settings.budget.usd)
    criteria.check(settings.prices)
    inputs = find_inputs(settings)
    errors = fit_error_model(inputs.models)
    jobs = group_jobs(settings.sweep.points, inputs.identity)
    possible = group_jobs(filterfalse(_find_reason_against, settings.sweep.points), inputs.identity)
    found = []
    for name, points in jobs.items():
        job = build_job(
            name,
            _known_settings(possible.get(name, points), inputs),
            objective=settings.objective,
            sweep=settings.sweep.name,
            repeated_words=find_repeated_words(settings),
            words=list_command_words(settings),
        )
        recommendation = recommend(job, criteria, errors)
        left_out = _describe_impossible(points) if name in possible else ()
        found.append(replace(recommendation, caveats=(*recommendation.caveats, *left_out)))
    return tuple(found)


def _find_reason_against(point: Point) -> str | None:
    """Return why its trainer cannot train a point; None: it can, or the workload refuses the input itself."""
    return None if unsuitable(point) else reason_against(point, trainer_info(point.trainer))


def _describe_impossible(settings: Iterable[tuple[Point, ...]]) -> tuple[str, ...]:
    """Describe the settings that no trainer of the sweep can train, in a sentence; empty: there are none."""
    reasons = {
        f"{points[0].device.name} in {points[0].precision} ({_find_reason_against(points[0])})": None
        for points in settings
        if all(map(_find_reason_against, points))
    }
    names = first_names(list(reasons), separator="; ")
    return (f"Not compared, as no trainer of the sweep can train there: {names}.",) if reasons else ()


def _known_settings(settings: Sequence[tuple[Point, ...]], inputs: PredictionInputs) -> list[KnownSetting]:
    """Collect records and prior of every setting of a workload; the prior ignores its own measurements."""
    workload = settings[0][0].workload
    corrected = inputs.corrected_by(own for own in inputs.own if own.trial.workload != workload)
    return [_known_setting(points, inputs, corrected) for points in settings]


def _known_setting(
    points: tuple[Point, ...], inputs: PredictionInputs, corrected: Correction
) -> KnownSetting:
    point = points[0]
    query = inputs.build_query(point)
    refusal, prior = None, None
    compiled, fit = (None, None) if isinstance(query, Refusal) else inputs.find_answers(points)
    memory = None if isinstance(query, Refusal) else query.memory and replace(query.memory, counted=fit)
    if isinstance(query, Refusal):
        refusal = query
    elif too_large := _too_large(point, query, memory):
        refusal = too_large
    elif reason := reason_against(point, trainer_info(point.trainer)):
        refusal = Refusal(reason=reason, to_measure="it with another trainer or precision")
    else:
        basis = corrected(build_published_estimate(query, inputs.models), None)
        step = inputs.loader_rates.limit(compiled or basis.step, point)
        if (count := len(query.spec.phases)) > 1:  # a step time does not give the time of a whole training
            step = in_phases(count)
        prior = step_prior(step, basis, memory=memory, quantile=inputs.models.quantile)
        refusal = step if isinstance(step, Refusal) else None
    return KnownSetting(
        points=points,
        spec=None if isinstance(query, Refusal) else query.spec,
        train_samples=None if isinstance(query, Refusal) else inputs.count_train_samples(query.spec, point),
        num_hosts=count_hosts(point, inputs.find_slots(point)),
        records=inputs.load_records(point),
        prior=prior,
        refusal=refusal,
        price=inputs.find_price(point),
        is_repriced=inputs.settings.reprices,
        is_rented=inputs.is_rented(point),
    )


def load_settings(overrides: Sequence[str], working_directory: Path) -> Settings:
    """Load the settings of a sweep, or of one point with the axes of the command line.

    Raises:
        ConfigError: an invalid override, or unequal devices.
    """
    words = [*([] if _names_sweep(overrides) else [_NO_SWEEP]), *overrides]
    settings = load(words, working_directory=working_directory)
    for point in settings.sweep.points:
        if point.other_devices:
            raise ConfigError(
                f"unequal devices, as {point.device_label}, are not modelled; remove devices=…, or measure "
                f"them: {command_text(list_command_words(settings))}"
            )
    return settings if _names_sweep(overrides) else _at_published_sizes(settings, overrides)


def _at_published_sizes(settings: Settings, overrides: Sequence[str]) -> Settings:
    """Set the published size of a network if the words do not set one."""
    keys = (word.lstrip("+").partition("=")[0] for word in overrides)
    named = {key.removeprefix("workload.") for key in keys if key.startswith("workload.")}
    points = tuple(apply_published_size(point, named) for point in settings.sweep.points)
    return replace(settings, sweep=replace(settings.sweep, points=points))


def _names_sweep(overrides: Sequence[str]) -> bool:
    return any(word.startswith("+sweep=") for word in overrides)


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
        records=records,
        own=own,
        alike=alike,
        records_alike=records_alike,
        loader_rates=collect_loader_rates(latest(records).values()),
        find_answers=find_earlier_answers(settings),
        calibrations=host_calibrations(settings),
    )


def _find_refusal(point: Point) -> Refusal | None:
    """Refuse an input size that the workload does not accept, and settings that no trainer trains."""
    if reason := unsuitable(point):
        return Refusal(reason=reason, to_measure="another size")
    reason = find_reason_against_settings(point)
    return Refusal(reason=reason, to_measure="it with other settings") if reason else None


def _step_query(point: Point) -> StepQuery | Refusal:
    """Build the query of a point's step, or refuse it."""
    return _find_refusal(point) or StepQuery(
        spec=build_workload(point),
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
        num_hosts=point.num_hosts or 1,
        memory_settings=point.memory_settings,
        is_compiled=point.trainer_options.get("compile") == "on",
    )


def _too_large(point: Point, query: StepQuery, need: MemoryNeed | None) -> Refusal | None:
    """Explain that the step surely does not fit, or why no smaller one is possible; None where it may fit."""
    misfit = need.describe_misfit(point.device.name) if need else ""
    if need is None or not misfit:
        return None
    if obstacle := find_obstacle(query):
        return obstacle
    smaller = _COUNTED_SMALLER if isinstance(need.counted, Verdict) else _find_smaller(need, point)
    return Misfit(reason=misfit, to_measure=smaller)


def _find_smaller(need: MemoryNeed, point: Point) -> str:
    """Name the largest batch and the largest micro batch that may fit, or what else would."""
    micro = _find_micro_batch(need, point)
    whole = f"global_batch_size={need.largest_batch}" if need.largest_batch and need.passes == 1 else ""
    sizes = " or ".join(filter(None, (whole, micro)))
    lighter = "" if micro else _find_lighter(point)
    found = " or ".join(filter(None, (sizes and f"{sizes} at most", lighter)))
    return found or LARGER_OR_SMALLER


def _find_micro_batch(need: MemoryNeed, point: Point) -> str:
    """Name the largest micro batch that may fit; empty: none does, or no trainer has any."""
    size = need.largest_micro_batch
    settings = replace(point.memory_settings, micro_batch_size=1)
    can_divide = size and _can_train(replace(point, memory_settings=settings))
    return f"micro_batch_size={size}" if can_divide else ""


def _find_lighter(point: Point) -> str:
    """Name the settings that may fit and cost least time; empty: none do."""
    for one in list_lighter_settings(
        point.workload,
        point.workload_options,
        point.memory_settings,
        num_workers=point.num_workers,
        replicas=point.device.replicas,
        global_batch_size=point.global_batch_size,
    ):
        changed = replace(
            point,
            workload_options=one.workload_options,
            memory_settings=one.memory_settings,
            num_workers=one.num_workers,
            num_hosts=None if one.num_workers > point.num_workers else point.num_hosts,
        )
        query = _step_query(changed)
        need = None if isinstance(query, Refusal) else query.memory
        if need is None or not _can_train(changed):
            continue
        if need.fits:
            return one.words
        if micro := _find_micro_batch(need, changed):
            return f"{one.words} with {micro} at most"
    return ""


def _can_train(point: Point) -> bool:
    """Return whether a trainer trains a point with its settings of memory."""
    able = (info for info in trainers().values() if info.memory_keys)
    tried = ((replace(point, trainer=info.name, trainer_options={}), info) for info in able)
    return any(reason_against(one, info) is None for one, info in tried)


def _find_command(point: Point, *, repeated_words: Sequence[str]) -> str | None:
    """Return the command that measures a point, with a trainer that can train it; None: none can."""
    if unsuitable(point) is not None:
        return None
    names = (point.trainer, *(name for name, info in trainers().items() if info.trains))
    tried = (point, *(replace(point, trainer=name, trainer_options={}) for name in names))
    found = next((one for one in tried if reason_against(one, trainer_info(one.trainer)) is None), None)
    if found is None:
        return None
    words = [word for word in list_overrides(found) if not f"{word} ".startswith(_DEFAULTS)]
    return command_text([_NO_SWEEP, *repeated_words, *words])


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
