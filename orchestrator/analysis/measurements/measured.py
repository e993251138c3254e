"""Seeds and repeats of one setting -> one measurement with its spread. Other versions are never one."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from orchestrator.analysis.formatting import counted_marks
from orchestrator.analysis.measurements.frame import quality_columns
from orchestrator.analysis.measurements.setting import Setting, find_differing_facts
from orchestrator.analysis.metrics.quality import QualityInterval, quality_interval
from orchestrator.core.deciding import choose_deciding, find_deciding
from orchestrator.core.interval import Spread, compute_spread

if TYPE_CHECKING:
    import pandas as pd

_Row = Mapping[Any, Any]
"""A row of the frame: column -> value; what is missing is NaN."""

_UNKNOWN = Spread(median=math.nan, low=math.nan, high=math.nan)


WHERE_KNOWN = ("epoch_seconds", "accelerator_joules_per_sample", "host_joules_per_sample")
"""Numbers that not every record, or not every host, has."""

_JOB = ("launch_seconds", "resumed_seconds", "training_seconds", "evaluation_seconds")
"""The parts of a whole training, one after the other; launching contains the set-up."""

RESUMED = (
    "a worker was lost and the training went on from a checkpoint. Its blocks are of the last attempt alone, "
    "its time adds what earlier attempts trained up to the checkpoint, and its cost is in the table of costs "
    "alone"
)
"""Definition of a resumed timing, for readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A setting's numbers: means over its repeats with their range, or those of its only trial.

    A repeat is a trial of the setting, with any seed. Times and rates are geometric means of the repeats
    that decide, and of all where none does. Losses and dollars of attempts are medians of all.

    Attributes:
        setting_id: equal in all its repeats: `core.spec.setting_id`.
        seeds: distinct seeds of its repeats, the smallest first.
        points: for each seed, the trial_id of its first repeat, measured or not.
        trains: False for the trainer that computes nothing; its times are in no comparison.
        versions, variables: those of the workers, equal in all repeats.
        num_blocks: timed blocks of one trial; the least of them where they differ.
        num_resumed: repeats that went on from a checkpoint: `RESUMED`.
        rates: samples per second of each repeat.
        quiet: for each repeat, True if its record shows no disturbance.
        samples_per_second, step_seconds: for one trial, the interval is over its blocks instead.
        timed_step_seconds: a step of the phase that is timed; without phases it is `step_seconds`.
        job_seconds: time from the request for workers to the end of the evaluation; `all_job_seconds` of each
            repeat.
        price: price of all repeats; empty if they have none, or several.
        price_marks: marks that distinguish costs at this price from others.
        usd_per_million_samples: at that price; NaN without one.
        job_usd: dollars of the attempt that gave the result, for repeats that were not resumed; NaN
            without one. `all_job_usd` of each of them; empty without a price.
        where_known: each of WHERE_KNOWN that a repeat has.
        quality: metric -> value on held-out data, with the interval of `quality_interval` over seeds.
    """

    setting_id: str
    seeds: tuple[int, ...]
    points: tuple[str, ...]
    setting: Setting
    trains: bool
    versions: str
    variables: str
    num_blocks: int
    num_resumed: int
    rates: tuple[float, ...]
    quiet: tuple[bool, ...]
    samples_per_second: Spread
    step_seconds: Spread
    timed_step_seconds: Spread
    first_step_seconds: Spread
    setup_seconds: Spread
    final_loss: Spread
    job_seconds: Spread
    all_job_seconds: tuple[float, ...]
    price: str
    price_marks: str
    usd_per_million_samples: Spread
    job_usd: Spread
    all_job_usd: tuple[float, ...]
    where_known: Mapping[str, Spread]
    quality: Mapping[str, QualityInterval]

    @property
    def num_repeats(self) -> int:
        """Its trials, whether they decide or not."""
        return len(self.rates)

    @property
    def num_noisy(self) -> int:
        """Repeats that something else disturbed."""
        return self.quiet.count(False)

    @property
    def num_deciding(self) -> int:
        """Repeats that nothing disturbed and that agree with each other."""
        return sum(find_deciding(self.rates, self.quiet))

    @property
    def num_outliers(self) -> int:
        """Quiet repeats that do not agree with the others."""
        return self.num_repeats - self.num_noisy - self.num_deciding

    @property
    def deciding_rates(self) -> tuple[float, ...]:
        """Rates of the repeats that decide; of all where none does."""
        return choose_deciding(self.rates, self.rates, self.quiet)


def marks_of_repeats(measurement: Measurement) -> str:
    """Describe how many repeats need care: `, 1 noisy, 1 outlier`."""
    return counted_marks(
        num_noisy=measurement.num_noisy,
        num_outliers=measurement.num_outliers,
        num_resumed=measurement.num_resumed,
    )


def find_measured(frame: "pd.DataFrame") -> tuple[Measurement, ...]:
    """Return every setting with measured steps: like ones together, the fastest of them first."""
    done = frame[
        (frame["provenance"] == "measured")
        & (frame["state"] == "done")
        & frame["step_seconds_median"].notna()  # neither a whole run, nor times that no clock can have shown
    ]
    alike: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for row in done.to_dict("records"):  # groups of pandas take milliseconds each
        alike[row["setting_id"], row["versions"], row["variables"]].append(row)
    measurements = _with_distinguishing_fields(
        [_build_one(rows, quality_columns(frame)) for rows in alike.values()]
    )
    return tuple(sorted(measurements, key=_find_order))


def _build_one(rows: Sequence[_Row], quality: Mapping[str, str]) -> Measurement:
    first = rows[0]
    rates = tuple(row["steady_samples_per_second"] for row in rows)
    quiet = tuple(row["noise"] == "" for row in rows)
    timed = choose_deciding(rows, rates, quiet)
    step_seconds, samples_per_second = _build_timing(timed)
    has_phases = bool(_known(timed, "last_phase_step_seconds"))
    price = first["price"] if len({row["price"] for row in rows}) == 1 else ""
    usd_of_million_seconds = first["usd_per_million_samples"] * first["steady_samples_per_second"]
    whole = [row for row in rows if not row["resumed_from_step"] > 0]
    return Measurement(
        setting_id=first["setting_id"],
        seeds=tuple(sorted({row["seed"] for row in rows})),
        points=tuple(dict.fromkeys(row["point"] for row in rows)),
        setting=Setting(**{field_.name: first[field_.name] for field_ in fields(Setting)}),
        trains=first["trains"],
        versions=first["versions"],
        variables=first["variables"],
        num_blocks=min(row["num_blocks"] for row in rows),
        num_resumed=len(rows) - len(whole),
        rates=rates,
        quiet=quiet,
        samples_per_second=samples_per_second,
        step_seconds=step_seconds,
        timed_step_seconds=_over(timed, "last_phase_step_seconds") if has_phases else step_seconds,
        first_step_seconds=_over(timed, "first_step_seconds"),
        setup_seconds=_over(timed, "setup_seconds"),
        final_loss=_median_over(rows, "final_loss"),
        job_seconds=compute_spread(_job_seconds(timed)),
        all_job_seconds=_job_seconds(rows),
        price=price,
        price_marks=first["price_marks"] if price else "",
        usd_per_million_samples=samples_per_second.dividing(usd_of_million_seconds) if price else _UNKNOWN,
        job_usd=_median_over(whole, "attempt_usd") if price else _UNKNOWN,
        all_job_usd=tuple(_known(whole, "attempt_usd")) if price else (),
        where_known={name: _over(timed, name) for name in WHERE_KNOWN if _known(timed, name)},
        quality={
            name: _find_quality(rows, name, column)
            for name, column in quality.items()
            if _known(rows, column)
        },
    )


def _job_seconds(rows: Sequence[_Row]) -> tuple[float, ...]:
    return tuple(sum(row[key] for key in _JOB) for row in rows)


def _find_quality(rows: Sequence[_Row], metric: str, column: str) -> QualityInterval:
    """Return the quality over seeds; the median of a seed's repeats counts once, because they hardly
    differ.
    """
    seeds = dict.fromkeys(row["seed"] for row in rows)
    of_seeds = [_known([row for row in rows if row["seed"] == seed], column) for seed in seeds]
    counts = _known(rows, "held_out_samples")
    return quality_interval(
        [median(values) for values in of_seeds if values],
        metric=metric,
        held_out_samples=int(min(counts)) if counts else None,
    )


def _build_timing(rows: Sequence[_Row]) -> tuple[Spread, Spread]:
    """Return seconds per step and samples per second: over repeats, or over the blocks of the only one."""
    if len(rows) > 1:
        return _over(rows, "step_seconds_median"), _over(rows, "steady_samples_per_second")
    (only,) = rows
    median, low, high = (only[f"step_seconds_{end}"] for end in ("median", "low", "high"))
    step_seconds = Spread(median=median, low=low, high=high)
    return step_seconds, step_seconds.dividing(only["global_batch_size"])


def _over(rows: Sequence[_Row], column: str) -> Spread:
    values = _known(rows, column)
    return compute_spread(values) if values else _UNKNOWN


def _median_over(rows: Sequence[_Row], column: str) -> Spread:
    values = _known(rows, column)
    return Spread(median=median(values), low=min(values), high=max(values)) if values else _UNKNOWN


def _known(rows: Sequence[_Row], column: str) -> list[float]:
    return [row[column] for row in rows if not math.isnan(row[column])]


def _with_distinguishing_fields(measured: Iterable[Measurement]) -> list[Measurement]:
    """Describe versions and variables of trials if nothing else distinguishes their rows."""
    alike: dict[Setting, list[Measurement]] = defaultdict(list)
    for measurement in measured:
        alike[measurement.setting].append(measurement)
    found = []
    for setting, group in alike.items():
        facts = [f"{member.versions}; {member.variables}" for member in group]
        for member, own in zip(group, facts, strict=True):
            found.append(replace(member, setting=replace(setting, ran_with=find_differing_facts(own, facts))))
    return found


def _find_order(measurement: Measurement) -> tuple[object, ...]:
    setting = measurement.setting
    return (
        not measurement.trains,
        setting.workload,
        setting.workload_options,
        setting.data,
        setting.device,
        setting.num_workers,
        setting.global_batch_size,
        -measurement.samples_per_second.median,
    )
