"""Trainings to a target -> how long each setting took, over its seeds and repeats, and each seed."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import median

from orchestrator.analysis.formatting import (
    UNKNOWN,
    Number,
    counted,
    counted_marks,
    data_name,
    number,
    spread,
)
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.measurements.setting import (
    DETAILS,
    Setting,
    build_setting,
    varying,
    with_environment,
)
from orchestrator.analysis.recommendation.jobs.settings_of_records import read_run
from orchestrator.analysis.table import Column, Table
from orchestrator.core.deciding import find_deciding
from orchestrator.core.interval import Spread, compute_spread
from orchestrator.core.result import TrialRecord, environment_key
from orchestrator.core.trial_progress import Target, TargetRun

_NOT_REACHED = "not reached"
_NAMED = {"workload": "workload", "device": "device", "trainer": "trainer", "precision": "precision"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToTarget:
    """The trainings of one setting to one target.

    Attributes:
        setting: settings that they share.
        pursuits: pursuits of each training.
        deciding: seed and pursuit of each training that the times are of: nothing disturbed it, and its steps
            agree with those of the others; of all where none decides.
        num_noisy: trainings that something else disturbed, by the counters in their records.
        num_resumed: trainings that went on from a checkpoint.
    """

    setting: Setting
    target: Target
    pursuits: tuple[TargetRun, ...]
    deciding: tuple[tuple[int, TargetRun], ...]
    num_noisy: int
    num_resumed: int

    @property
    def seconds(self) -> Spread:
        """Training seconds to the target: mean and range; infinite for a training that did not reach it."""
        return _measure_seconds(pursuit for _, pursuit in self.deciding)

    @property
    def seconds_by_seed(self) -> dict[int, Spread]:
        """Seconds to the target per seed, the smallest seed first."""
        seeds = sorted({seed for seed, _ in self.deciding})
        return {seed: _measure_seconds(one for own, one in self.deciding if own == seed) for seed in seeds}

    @property
    def steps(self) -> Spread:
        """Optimizer steps to the target, likewise."""
        return _mean_over(one.reached.steps if one.reached else math.inf for _, one in self.deciding)

    @property
    def evaluation_seconds(self) -> Spread:
        """Seconds of the evaluations on the way: median and range."""
        return _median_over(pursuit.evaluation_seconds for _, pursuit in self.deciding)


def compute_times_to_target(records: Iterable[TrialRecord]) -> tuple[TimeToTarget, ...]:
    """Every setting that was measured with a target: what is alike together, and of that the fastest first.

    Trials that ran with other versions or variables are never one setting.
    """
    alike: dict[tuple[object, ...], list[tuple[TrialRecord, TargetRun]]] = defaultdict(list)
    for record in records:
        if record.provenance == "measured" and record.result and record.result.pursuit:
            pursuit = record.result.pursuit
            alike[build_setting(record.spec), environment_key(record), pursuit.target].append(
                (record, pursuit)
            )
    return tuple(sorted(map(_build_one, alike.values()), key=_find_order))


def _build_one(runs: Sequence[tuple[TrialRecord, TargetRun]]) -> TimeToTarget:
    first, pursuit = runs[0]
    return TimeToTarget(
        setting=with_environment(build_setting(first.spec), first),
        target=pursuit.target,
        pursuits=tuple(run for _, run in runs),
        deciding=tuple(
            compress(
                [(record.spec.seed, run) for record, run in runs], _decides([record for record, _ in runs])
            )
        ),
        num_noisy=sum(describe_noise(record) != "" for record, _ in runs),
        num_resumed=sum(bool(record.result and record.result.resumed_from_step) for record, _ in runs),
    )


def _decides(records: Sequence[TrialRecord]) -> tuple[bool, ...]:
    """Describe which trainings decide in a recommendation; all where none does, or steps were not timed."""
    timed = [read_run(record, None) for record in records]
    runs = [run for run in timed if run]
    every = (True,) * len(records)
    if len(runs) < len(records):
        return every
    decides = find_deciding([1 / run.step_seconds for run in runs], [not run.is_noisy for run in runs])
    return decides if any(decides) else every


def _find_order(result: TimeToTarget) -> tuple[object, ...]:
    setting = result.setting
    key = (setting.workload, setting.workload_options, setting.data)
    return (*key, result.target.value, result.seconds.median)


def target_table(results: Sequence[TimeToTarget]) -> Table:
    """One row per setting: how many of its trainings came to the target, and how soon."""
    settings = [result.setting for result in results]
    # trainers differ in their versions anyway; they are worth a word where nothing else differs
    shows_versions = len({replace(setting, ran_with="") for setting in settings}) < len(settings)
    details = [name for name in DETAILS if name != "ran_with" or shows_versions]
    named = {**_NAMED, **{name: DETAILS[name] for name in varying(settings, details)}}
    by_seed = any(len(result.seconds_by_seed) > 1 for result in results)
    headers = ("target", "reached", "training s", "steps to target", "best quality", "evaluation s")
    return Table(
        title="Time to target",
        note=(
            "Training time until an evaluation on held-out data first met the target, including "
            "the first step and its compilation. Evaluations are timed separately; the last "
            "number includes them. Geometric means over the seeds and repeats that decide, with their "
            "range in brackets. Where a training missed the target, which counts as slower than any "
            "that met it, and of evaluations, medians. Times are as fine as the distance between "
            "evaluations."
        ),
        columns=(
            *(Column(header=header) for header in named.values()),
            *(Column(header=header, is_number=True, is_detail=header in headers[4:]) for header in headers),
            *([Column(header="training s by seed", is_detail=True)] if by_seed else []),
            Column(header="over"),
        ),
        rows=tuple(
            (
                *(_format_field(result.setting, name) for name in named),
                *_cells(result),
                *([_by_seed(result)] if by_seed else []),
                _describe_basis(result),
            )
            for result in results
        ),
    )


def _format_field(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    return data_name(value) if name == "data" else str(value) or UNKNOWN


def _cells(result: TimeToTarget) -> Iterator[str]:
    sign = "\N{GREATER-THAN OR EQUAL TO}" if result.target.higher_is_better else "\N{LESS-THAN OR EQUAL TO}"
    best = _median_over(
        run.best_quality if run.best_quality is not None else math.nan for run in result.pursuits
    )
    yield Number(f"{result.target.metric} {sign} {result.target.value:g}", result.target.value)
    num_reached = sum(run.reached is not None for run in result.pursuits)
    yield Number(f"{num_reached} of {len(result.pursuits)}", num_reached)
    yield (
        _until(result.seconds)
        or f"not reached in {counted(result.setting.steps, 'step')} (best {_find_best(result)})"
    )
    yield _until(result.steps, format_value="{:,.0f}".format) or UNKNOWN
    yield spread(best)
    yield spread(result.evaluation_seconds)


def _by_seed(result: TimeToTarget) -> str:
    """`1: 3.650; 2: not reached`."""
    return "; ".join(
        f"{seed}: {_until(taken) or _NOT_REACHED}" for seed, taken in result.seconds_by_seed.items()
    )


def _describe_basis(result: TimeToTarget) -> str:
    marked = counted_marks(num_noisy=result.num_noisy, num_outliers=0, num_resumed=result.num_resumed)
    seeds = counted(len(result.seconds_by_seed), "seed")
    return f"{counted(len(result.pursuits), 'training')}, {seeds}{marked}"


def _find_best(result: TimeToTarget) -> str:
    qualities = [run.best_quality for run in result.pursuits if run.best_quality is not None]
    best = max if result.target.higher_is_better else min
    return number(best(qualities, default=math.nan))


def _until(value: Spread, *, format_value: Callable[[float], str] = number) -> str:
    """Format the times; empty if most trainings missed the target. A slowest one that missed it is words."""
    if math.isinf(value.median):
        return ""
    if value.low == value.high:
        return Number(format_value(value.median), value.median)
    slowest = _NOT_REACHED if math.isinf(value.high) else format_value(value.high)
    return Number(f"{format_value(value.median)} [{format_value(value.low)}, {slowest}]", value.median)


def _measure_seconds(pursuits: Iterable[TargetRun]) -> Spread:
    return _mean_over(
        pursuit.reached.training_seconds if pursuit.reached else math.inf for pursuit in pursuits
    )


def _mean_over(values: Iterable[float]) -> Spread:
    """Return the geometric mean; the median where a value is infinite."""
    sample = list(values)
    return compute_spread(sample) if all(map(math.isfinite, sample)) else _median_over(sample)


def _median_over(values: Iterable[float]) -> Spread:
    sample = list(values)
    return Spread(median=median(sample), low=min(sample), high=max(sample))
