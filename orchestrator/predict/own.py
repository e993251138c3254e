"""The user's own records -> measured steps of workloads as these are now. Pure."""

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from orchestrator.analysis.noise import noise_of
from orchestrator.analysis.timing import step_seconds_of
from orchestrator.core.result import TrialRecord
from orchestrator.core.spec import TrialSpec
from orchestrator.predict.prior import Learned, Prior, learned_from
from orchestrator.predict.shape import Shape, shape_of
from workloads.registry import workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A measurement.

    Attributes:
        step_seconds: median over its blocks.
        sweep: that made it.
        is_noisy: something else disturbed it, as its record tells.
    """

    trial: TrialSpec
    step_seconds: float
    sweep: str
    is_noisy: bool

    @property
    def log_seconds(self) -> float:
        """Logarithm of a step's."""
        return math.log(self.step_seconds)


def is_measurement(record: TrialRecord) -> bool:
    """Something was trained on the device that was asked for."""
    return record.provenance == "measured" and record.result is not None and record.placement.trains


def own_of(records: Iterable[TrialRecord], *, devices: Container[str]) -> tuple[Own, ...]:
    """Each measurement on these devices once, however many ledgers have it.

    None of a workload that is another one now, and none of devices that are not alike: it tells of no device.
    """
    distinct = {
        (each.trial_id, each.attempt, each.started_at): each
        for each in records
        if is_measurement(each) and each.spec.device in devices and not each.spec.other_devices
    }
    return tuple(own for each in distinct.values() for own in _own(each))


def fastest_of(own: Iterable[Own]) -> tuple[Own, ...]:
    """Repeats of one step, of several trainers those of the fastest; none: it was not measured."""
    alike: dict[Shape, list[Own]] = defaultdict(list)
    for each in own:
        alike[shape_of(each.trial)].append(each)
    repeats = alike.values()
    return tuple(min(repeats, key=lambda each: fmean(one.log_seconds for one in each), default=()))


def of_source(own: Sequence[Own], source: str) -> tuple[Own, ...]:
    """Those on such data; `auto`: on the first of `real`, `standin` and `synthetic` that has any."""
    kinds = ("real", "standin", "synthetic") if source == "auto" else (source,)
    found = (tuple(each for each in own if each.trial.data.startswith(f"{kind}:")) for kind in kinds)
    return next(filter(None, found), ())


def repeated(own: Sequence[Own], prior: Prior) -> Learned:
    """What repeats of one step, at least one, say of the logarithm of its seconds."""
    logs = [each.log_seconds for each in own]
    return learned_from(logs, device=math.inf, workload=prior.repeat, freedom=prior.freedom)


def besides_seconds_of(records: Iterable[TrialRecord]) -> float | None:
    """What an attempt takes beside its steps, the middle of all measurements; None: there is none.

    Of a training in phases the steps of the last alone are timed, so it tells nothing.
    """
    found = [
        max(0.0, each.seconds - each.result.steps * steady.median)
        for each in records
        if is_measurement(each)
        and each.result
        and not each.result.resumed_from_step
        and len(each.result.phase_seconds) == 1
        and (steady := step_seconds_of(each.result))
    ]
    return median(found) if found else None


def _own(record: TrialRecord) -> Iterator[Own]:
    steady = step_seconds_of(record.result) if record.result else None
    if steady and is_current(record.spec):
        yield Own(
            trial=record.spec,
            step_seconds=steady.median,
            sweep=record.reused_from or record.sweep,
            is_noisy=bool(noise_of(record)),
        )


def is_current(trial: TrialSpec) -> bool:
    """Its workload is still there, with that version."""
    try:
        return workload(trial.workload, trial.workload_options).version == trial.workload_version
    except ValueError:
        return False
