"""Repeats of one point -> one measurement with its spread. Different data or devices are never one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import pandas as pd

from orchestrator.analysis.frame import quality_metrics
from orchestrator.analysis.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median between two ends; what lies between them, its owner says."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A setting's numbers: medians over its repeats with their range, or those of its only trial.

    Attributes:
        num_repeats: trials that these numbers come from.
        num_blocks: timed blocks of one trial; the least of them where they differ.
        samples_per_second, step_seconds: of one trial, the interval over its blocks instead.
        quality: metric -> value on held-out data.
    """

    setting: Setting
    num_repeats: int
    num_blocks: int
    samples_per_second: Spread
    step_seconds: Spread
    first_step_seconds: Spread
    setup_seconds: Spread
    final_loss: Spread
    quality: Mapping[str, Spread]


def measured_of(frame: pd.DataFrame) -> tuple[Measured, ...]:
    """Every point that was measured: by workload, data, device and number of devices, the fastest first."""
    done = frame[(frame["provenance"] == "measured") & (frame["state"] == "done")]
    found = (_one_of(rows, quality_metrics(frame)) for _, rows in done.groupby("point", sort=False))
    return tuple(sorted(found, key=_order_of))


def _one_of(rows: pd.DataFrame, quality: Iterable[str]) -> Measured:
    first = rows.iloc[0]
    step_seconds, samples_per_second = _timing_of(rows)
    return Measured(
        setting=Setting(**{each.name: first[each.name] for each in fields(Setting)}),
        num_repeats=len(rows),
        num_blocks=int(rows["num_blocks"].min()),
        samples_per_second=samples_per_second,
        step_seconds=step_seconds,
        first_step_seconds=_over(rows["first_step_seconds"]),
        setup_seconds=_over(rows["setup_seconds"]),
        final_loss=_over(rows["final_loss"]),
        quality={name: _over(rows[name]) for name in quality if rows[name].notna().any()},
    )


def _timing_of(rows: pd.DataFrame) -> tuple[Spread, Spread]:
    """Seconds per step and samples per second: over repeats, or over the blocks of the only one."""
    if len(rows) > 1:
        return _over(rows["step_seconds_median"]), _over(rows["steady_samples_per_second"])
    only = rows.iloc[0]
    low, high = float(only["step_seconds_low"]), float(only["step_seconds_high"])
    step_seconds = Spread(median=float(only["step_seconds_median"]), low=low, high=high)
    samples = int(only["global_batch_size"])
    rate = Spread(median=samples / step_seconds.median, low=samples / high, high=samples / low)
    return step_seconds, rate


def _over(values: "pd.Series[float]") -> Spread:
    return Spread(median=float(values.median()), low=float(values.min()), high=float(values.max()))


def _order_of(each: Measured) -> tuple[object, ...]:
    setting = each.setting
    return (
        setting.workload,
        setting.data,
        setting.device,
        setting.num_workers,
        -each.samples_per_second.median,
    )
