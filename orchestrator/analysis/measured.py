"""Repeats of one point -> one measurement with its spread. Other data, devices or versions are never one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import pandas as pd

from orchestrator.analysis.frame import quality_columns
from orchestrator.analysis.setting import Setting
from orchestrator.analysis.wording import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A setting's numbers: medians over its repeats with their range, or those of its only trial.

    Attributes:
        trains: whether anything was computed; where nothing was, the times compare with nobody's.
        versions, variables: of the workers, the same in all repeats.
        num_blocks: timed blocks of one trial; the least of them where they differ.
        num_noisy: repeats that something else disturbed, as their records tell.
        rates: samples per second of each repeat.
        samples_per_second, step_seconds: of one trial, the interval over its blocks instead.
        quality: metric -> value on held-out data.
    """

    setting: Setting
    trains: bool
    versions: str
    variables: str
    num_blocks: int
    num_noisy: int
    rates: tuple[float, ...]
    samples_per_second: Spread
    step_seconds: Spread
    first_step_seconds: Spread
    setup_seconds: Spread
    final_loss: Spread
    quality: Mapping[str, Spread]

    @property
    def num_repeats(self) -> int:
        """Trials that these numbers come from."""
        return len(self.rates)


def measured_of(frame: pd.DataFrame) -> tuple[Measured, ...]:
    """Every point that was measured: what is alike together, and of that the fastest first."""
    done = frame[(frame["provenance"] == "measured") & (frame["state"] == "done")]
    alike = done.groupby(["point", "versions", "variables"], sort=False)
    found = _told_apart([_one_of(rows, quality_columns(frame)) for _, rows in alike])
    return tuple(sorted(found, key=_order_of))


def _one_of(rows: pd.DataFrame, quality: Mapping[str, str]) -> Measured:
    first = rows.head(1).to_dict("records")[0]
    step_seconds, samples_per_second = _timing_of(rows)
    return Measured(
        setting=Setting(**{each.name: first[each.name] for each in fields(Setting)}),
        trains=bool(first["trains"]),
        versions=first["versions"],
        variables=first["variables"],
        num_blocks=int(rows["num_blocks"].min()),
        num_noisy=int((rows["noise"] != "").sum()),
        rates=tuple(map(float, rows["steady_samples_per_second"])),
        samples_per_second=samples_per_second,
        step_seconds=step_seconds,
        first_step_seconds=_over(rows["first_step_seconds"]),
        setup_seconds=_over(rows["setup_seconds"]),
        final_loss=_over(rows["final_loss"]),
        quality={name: _over(rows[column]) for name, column in quality.items() if rows[column].notna().any()},
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


def _told_apart(measured: Iterable[Measured]) -> list[Measured]:
    """Say what trials ran with where that alone tells their rows apart."""
    alike: dict[Setting, list[Measured]] = defaultdict(list)
    for each in measured:
        alike[each.setting].append(each)
    return [
        replace(each, setting=replace(each.setting, ran_with=_differing(each, group)))
        for group in alike.values()
        for each in group
    ]


def _differing(one: Measured, group: Sequence[Measured]) -> str:
    facts = [set(_facts_of(each)) for each in group]
    return "; ".join(fact for fact in _facts_of(one) if not all(fact in each for each in facts))


def _facts_of(each: Measured) -> list[str]:
    return [fact for facts in (each.versions, each.variables) for fact in facts.split("; ") if fact]


def _order_of(each: Measured) -> tuple[object, ...]:
    setting = each.setting
    return (
        not each.trains,
        setting.workload,
        setting.workload_options,
        setting.data,
        setting.device,
        setting.num_workers,
        setting.global_batch_size,
        -each.samples_per_second.median,
    )
