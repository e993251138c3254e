"""Speed-ups of trials with split convolutions over one worker, and their predictions by the model. Pure."""

import math
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

from orchestrator.analysis.comparison.compare import compute_ratio
from orchestrator.analysis.comparison.factors import TRAINER, WORKERS, alike
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.core.deciding import choose_deciding, repeat_key
from orchestrator.core.estimate import Refusal
from orchestrator.core.interval import Spread
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import Option, TrialSpec
from orchestrator.extensions.kernel_split.analysis.calibration import (
    Platform,
    PlatformCalibration,
    build_calibrations,
    build_trial,
    find_machine,
    split_layers,
    splits,
)
from orchestrator.extensions.kernel_split.analysis.model import SplitModel, SplitQuery, modelled
from orchestrator.train.registry import trainers
from workloads.registry import options_class

_LEAST_ERRORS = 4
"""Measured settings that brackets need: those of fewer hold too little."""

_COVERAGE = 0.9
KERNELS = "kernels"
"""The knob of a workload that has the number of its kernels as one, of each convolution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """Error of the model's predictions.

    Attributes:
        factor: factor to both sides.
        num_points: measured settings, each predicted without its own trials.
    """

    factor: float
    num_points: int

    @property
    def coverage(self) -> float:
        """Part of further settings that it should hold, if those are like the measured ones."""
        return min(_COVERAGE, self.num_points / (self.num_points + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConfig:
    """Trained network and number of workers.

    Attributes:
        options: options of the workload, those that differ from their defaults.
    """

    options: Mapping[str, Option]
    batch: int
    workers: int
    is_even: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMeasurement:
    """A measured setting with convolutions split over several workers.

    Attributes:
        held: kernels of each rank in the convolution with the most work.
        baseline: one worker; None: it was not measured.
        model: without the setting's own trials.
    """

    measured: Measurement
    work: SplitConfig
    held: tuple[int, ...]
    baseline: Measurement | None
    model: SplitModel | Refusal

    @property
    def speed_up(self) -> Spread | None:
        """Speed-up over the baseline, of the repeats that decide on both sides."""
        if self.baseline is None:
            return None
        return compute_ratio(self.measured.deciding_rates, self.baseline.deciding_rates)

    @property
    def is_noisy(self) -> bool:
        """Something else disturbed a trial of either side."""
        return any(side.num_noisy for side in (self.measured, self.baseline) if side)

    @property
    def is_resumed(self) -> bool:
        """A trial of either side went on from a checkpoint."""
        return any(side.num_resumed for side in (self.measured, self.baseline) if side)

    @property
    def error(self) -> float | None:
        """Relative error of the model, predicted / measured - 1; None where one of both is unknown."""
        if self.speed_up is None or isinstance(self.model, Refusal):
            return None
        return self.model.speed_up / self.speed_up.median - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformResults:
    """All of one machine.

    Attributes:
        calibrations: by number of workers.
    """

    machine: Platform
    calibrations: Mapping[int, PlatformCalibration]
    splits: tuple[SplitMeasurement, ...]

    @property
    def margin(self) -> Margin | None:
        """Distribution-free: the rank of the errors that holds 90% of further ones, else the largest.

        None: too few of them.
        """
        errors = sorted(abs(math.log1p(split.error)) for split in self.splits if split.error is not None)
        if len(errors) < _LEAST_ERRORS:
            return None
        rank = min(len(errors), math.ceil(_COVERAGE * (len(errors) + 1)))
        return Margin(factor=math.exp(errors[rank - 1]), num_points=len(errors))

    def model(self, work: SplitConfig) -> SplitModel | Refusal:
        """Model a step of any configuration on this platform."""
        return model_step(work, self.machine, self.calibrations)

    def bracketed(self, speed_up: float) -> Spread:
        """Return the speed-up with the interval of its prediction, where there is one."""
        factor = self.margin.factor if self.margin else 1.0
        return Spread(median=speed_up, low=speed_up / factor, high=speed_up * factor)


def find_splits(
    measured: Sequence[Measurement], records: Iterable[TrialRecord]
) -> tuple[PlatformResults, ...]:
    """Return one for each machine that has trials of a trainer that splits, with any number of workers."""
    families: dict[Platform, list[TrialRecord]] = defaultdict(list)
    for record in records:
        if record.provenance == "measured" and record.result is not None and splits(record.spec.trainer):
            families[find_machine(record)].append(record)
    if not families:
        return ()
    several: dict[str, list[tuple[Measurement, Measurement | None]]] = defaultdict(list)
    for measurement, baseline in _with_baselines(measured):
        several[measurement.setting_id].append((measurement, baseline))
    return tuple(_family(machine, pairs, several) for machine, pairs in families.items())


def model_step(
    work: SplitConfig, machine: Platform, calibrations: Mapping[int, PlatformCalibration]
) -> SplitModel | Refusal:
    """Model one step of a configuration."""
    layers = split_layers(machine.workload, work.options, batch=work.batch, precision=machine.precision)
    if isinstance(layers, Refusal):
        return layers
    return modelled(SplitQuery(layers=layers, workers=work.workers, is_even=work.is_even), calibrations)


def is_even(trainer_options: Mapping[str, Option]) -> bool:
    """Return whether shares are equal instead of calibrated."""
    return trainer_options.get("shares") == "even"


def kernels_in(name: str, options: Mapping[str, Option]) -> tuple[int, ...]:
    """Return the kernels of each convolution where they are an option of the workload; otherwise an empty
    tuple.
    """
    return _whole(options[KERNELS]) if KERNELS in options else usual_kernels(name)


def usual_kernels(name: str) -> tuple[int, ...]:
    """Return a workload's default kernels; empty where they are no option, or where its code is missing."""
    try:
        knobs = fields(options_class(name))
    except ValueError:
        return ()
    return next((_whole(knob.default) for knob in knobs if knob.name == KERNELS), ())


def _whole(value: object) -> tuple[int, ...]:
    return tuple(number for number in value if isinstance(number, int)) if isinstance(value, tuple) else ()


def with_kernels(work: SplitConfig, kernels: tuple[int, ...]) -> SplitConfig:
    """The same of other kernels."""
    return replace(work, options={**work.options, KERNELS: kernels})


def _with_baselines(measured: Sequence[Measurement]) -> Iterator[tuple[Measurement, Measurement | None]]:
    """Yield each split measurement with its baseline: the same setting on one worker.

    Of the same trainer, or else of another trainer of its framework.
    """
    of_framework = {
        trainers()[measurement.setting.trainer].environment
        for measurement in measured
        if _is_split(measurement)
    }
    usual = [
        measurement
        for measurement in measured
        if _is_split(measurement) or _is_plain(measurement, of_framework)
    ]
    seen: set[tuple[str, str, str]] = set()
    for group in alike(usual, WORKERS, TRAINER):
        alone = [member for member in group if member.setting.num_workers == 1]
        for member in group:
            ran = (member.setting_id, member.versions, member.variables)
            if _is_split(member) and member.setting.num_workers > 1 and ran not in seen:
                seen.add(ran)
                yield member, max(alone, key=partial(_nearness, member), default=None)


def _is_split(measurement: Measurement) -> bool:
    return splits(measurement.setting.trainer)


def _is_plain(measurement: Measurement, environments: Container[str]) -> bool:
    info, options = trainers().get(measurement.setting.trainer), measurement.setting.trainer_options
    return measurement.trains and info is not None and info.environment in environments and not options


def _nearness(measurement: Measurement, one: Measurement) -> tuple[bool, bool, bool]:
    options = one.setting.trainer_options == measurement.setting.trainer_options
    return _is_split(one), options, one.versions == measurement.versions


def _family(
    machine: Platform,
    records: Sequence[TrialRecord],
    several: Mapping[str, Sequence[tuple[Measurement, Measurement | None]]],
) -> PlatformResults:
    decisive = _deciding(records)
    trials = [build_trial(record) for record in decisive]
    specs = {trial.setting_id: record.spec for trial, record in zip(trials, decisive, strict=True)}
    splits = []
    for setting in (spec for spec in specs if spec in several):
        work = _build_work(specs[setting])
        others = build_calibrations(trial for trial in trials if trial.setting_id != setting)
        model = model_step(work, machine, others)
        held = next(trial.held for trial in trials if trial.setting_id == setting)
        splits += [
            SplitMeasurement(measured=measured, work=work, held=held, baseline=baseline, model=model)
            for measured, baseline in several[setting]
        ]
    return PlatformResults(
        machine=machine,
        calibrations=build_calibrations(trials),
        splits=tuple(sorted(splits, key=_find_order)),
    )


def _deciding(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Choose the trials of each setting that decide; all of a setting where none does."""
    repeats: dict[Hashable, list[tuple[TrialRecord, float]]] = defaultdict(list)
    for record in records:
        if record.result and (step := find_step_seconds(record.result)):
            repeats[repeat_key(record)].append((record, 1 / step.median))
    return [
        record
        for group in repeats.values()
        for record in choose_deciding(
            [record for record, _ in group],
            [rate for _, rate in group],
            [not describe_noise(record) for record, _ in group],
        )
    ]


def _find_order(split: SplitMeasurement) -> tuple[object, ...]:
    """Return a sort key made of numbers, so that 1000 follows 500."""
    work, setting = split.work, split.measured.setting
    options = [
        (name, value if isinstance(value, int | float) else 0, str(value))
        for name, value in sorted(work.options.items())
        if name != KERNELS
    ]
    kernels = kernels_in(setting.workload, work.options)
    return kernels, options, work.batch, work.workers, work.is_even, setting.ran_with


def _build_work(spec: TrialSpec) -> SplitConfig:
    return SplitConfig(
        options=spec.workload_options,
        batch=spec.global_batch_size,
        workers=spec.num_workers,
        is_even=is_even(spec.trainer_options),
    )
