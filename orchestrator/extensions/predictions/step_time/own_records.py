"""The user's own records -> measured steps of workloads as these are now. Pure."""

import math
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import TypeVar

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run
from orchestrator.core.deciding import choose_deciding
from orchestrator.core.result import TrialRecord, find_versions
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.extensions.predictions.step_time.error_model import (
    ErrorPrior,
    LogRatioPosterior,
    learned_from,
)
from orchestrator.plan.trial_specs import is_current
from workloads.spec import OWN_SOURCE

_LENGTH_AND_CHANCE = ("steps", "seed", "repeat", "timing")
_NAMES = tuple(field_.name for field_ in fields(TrialSpec) if field_.name not in _LENGTH_AND_CHANCE)

_NOISE = 0.29
"""Deviation of the logarithm of a noisy run: 9 of 10 lie within a factor of 1.6. Settings on a busy host took
0.76 to 1.6 times as long a quarter of an hour later (docs/findings/search.md)."""

Shape = Hashable


def step_key(trial: TrialSpec) -> Shape:
    """Return a key that trials with the same steps share: other data, versions of code or options differ."""
    values = (getattr(trial, name) for name in _NAMES)
    return tuple(tuple(sorted(one.items())) if isinstance(one, Mapping) else one for one in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeasurement:
    """A measurement.

    Attributes:
        step_seconds: median over its blocks.
        sweep: name of its sweep.
        is_noisy: the host was busy, and no quiet repeat decides in its place.
    """

    trial: TrialSpec
    step_seconds: float
    sweep: str
    is_noisy: bool = False

    @property
    def log_seconds(self) -> float:
        """Logarithm of a step's."""
        return math.log(self.step_seconds)


def step_measurements(
    records: Iterable[TrialRecord], *, devices: Container[str]
) -> tuple[StepMeasurement, ...]:
    """Return each measurement on these devices once for any number of ledgers: of repeats those that decide.

    Measurements of a workload that has changed since, and of devices that are not alike, are left out.
    """
    distinct = {
        (record.trial_id, record.attempt, record.started_at): record
        for record in records
        if is_run(record) and record.spec.device in devices and not record.spec.other_devices
    }
    alike: dict[Hashable, list[StepMeasurement]] = defaultdict(list)
    for record in distinct.values():
        for own in _own(record):
            ran_with = tuple(find_versions(record).items())
            alike[step_key(own.trial), ran_with].append(replace(own, is_noisy=describe_noise(record) != ""))
    return tuple(
        own
        for repeats in alike.values()
        for own in choose_deciding(
            repeats, [1 / own.step_seconds for own in repeats], [not own.is_noisy for own in repeats]
        )
    )


def find_fastest(own: Iterable[StepMeasurement]) -> tuple[StepMeasurement, ...]:
    """Repeats of one step, of several trainers those of the fastest; none: it was not measured."""
    alike: dict[Shape, list[StepMeasurement]] = defaultdict(list)
    for measurement in own:
        alike[step_key(measurement.trial)].append(measurement)
    repeats = alike.values()
    return tuple(
        min(repeats, key=lambda measurements: fmean(one.log_seconds for one in measurements), default=())
    )


_Item = TypeVar("_Item")


def of_source(
    items: Sequence[_Item], source: str, *, build_spec: Callable[[_Item], TrialSpec]
) -> tuple[_Item, ...]:
    """Keep those on such data; `auto`: on the first of `real`, `standin` and `synthetic` that has any.

    A job's or a script's own data has no other source.
    """
    kinds = (OWN_SOURCE, *(("real", "standin", "synthetic") if source == "auto" else (source,)))
    of_kinds = (tuple(one for one in items if build_spec(one).data.startswith(f"{kind}:")) for kind in kinds)
    return next(filter(None, of_kinds), ())


def repeated(own: Sequence[StepMeasurement], prior: ErrorPrior) -> LogRatioPosterior:
    """Return the posterior of log seconds from repeats of one step, at least one."""
    logs = [measurement.log_seconds for measurement in own]
    if any(one.is_noisy for one in own):  # what disturbs a host disturbs all repeats there
        return learned_from([fmean(logs)], device=math.inf, workload=_NOISE, freedom=prior.freedom)
    return learned_from(logs, device=math.inf, workload=prior.repeat, freedom=prior.freedom)


def _own(record: TrialRecord) -> Iterator[StepMeasurement]:
    steady = find_step_seconds(record.result) if record.result else None
    if steady and is_current(record.spec):
        yield StepMeasurement(
            trial=record.spec, step_seconds=steady.median, sweep=record.reused_from or record.sweep
        )
