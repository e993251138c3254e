"""Plausibility checks of latency units; a wrong unit is an error, not an outlier.

Units differ by a factor of 1000. Each check compares what should be about equal, with limits that no right
measurement is known to reach and no wrong unit passes.
"""

import numpy as np
import pandas as pd

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.table import (
    KEYS,
    WORKLOAD,
    LatencyTable,
    device_ops,
)

_STEP_SECONDS = (1e-6, 3600.0)
_PROFILE_OVER_STEP = (0.01, 30.0)  # 0.5 to 3 in the published data, idle time counted
_REPEATS_APART = 30.0  # 1.5 in the published data
_ONE_PAIR_APART = (
    100.0  # of one workload's ratio of two devices over the median one; 10 in the published data
)
_SAME_MEASUREMENT = 0.01  # relative


def check_units(table: LatencyTable, *, devices_apart: float) -> None:
    """Raises ConfigError that names a measurement which is in another unit than its column is.

    Args:
        devices_apart: factor between two devices, in the middle of all workloads, above which a
            unit is taken to be wrong.
    """
    low, high = _STEP_SECONDS
    wrong = table.rows[~table.rows["step_seconds"].between(low, high)]
    if len(wrong):
        first = wrong.iloc[0]
        raise ConfigError(
            f"{table.source}: {_named(first)}: a step of {first.step_seconds:.4g} s cannot be; "
            f"check the unit of the latency, possible are {low:g} s to {high:g} s"
        )
    _check_profiles(table)
    _check_repeats(table)
    _check_devices(table, apart=devices_apart)


def without_twins(table: LatencyTable) -> LatencyTable:
    """Each measurement once, of several the one with a profile.

    Raises:
        ConfigError: two that differ: one is in another unit, or they are of different repeats.
    """
    rows = table.rows
    steps = rows.groupby(list(KEYS), dropna=False)["step_seconds"]
    spans = rows.assign(low=steps.transform("min"), high=steps.transform("max"))
    differ = spans[spans["high"] > spans["low"] * (1 + _SAME_MEASUREMENT)]
    if len(differ):
        first = differ.iloc[0]
        raise ConfigError(
            f"{table.source}: {_named(first)} is given as {first.low:.4g} s and as {first.high:.4g} s; "
            "one of the two is in a wrong unit, or of another repeat"
        )
    by_profile = rows.assign(bare=~rows.index.isin(table.op_seconds.index)).sort_values("bare", kind="stable")
    kept = by_profile.drop_duplicates(list(KEYS)).drop(columns="bare").sort_index()
    profiled = table.op_seconds.index.intersection(kept.index)
    return LatencyTable(rows=kept, op_seconds=table.op_seconds.loc[profiled], source=table.source)


def _check_profiles(table: LatencyTable) -> None:
    times = table.op_seconds.to_numpy()
    if not np.isfinite(times).all() or (times < 0).any():
        raise ConfigError(f"{table.source}: an op time is negative or not finite")
    sums = table.op_seconds[device_ops(table.op_seconds)].sum(axis=1)
    profiled = table.rows.loc[sums.index].assign(ratio=lambda rows: sums / rows["step_seconds"])
    wrong = profiled[~profiled["ratio"].between(*_PROFILE_OVER_STEP)]
    if len(wrong):
        first = wrong.iloc[0]
        raise ConfigError(
            f"{table.source}: {_named(first)}: the device's ops take {first.ratio:.3g} times the step of "
            f"{first.step_seconds:.4g} s; check the units of both, and how many steps the profile covers"
        )


def _check_repeats(table: LatencyTable) -> None:
    steps = table.rows.groupby(["device", *WORKLOAD], dropna=False)["step_seconds"]
    apart = table.rows.assign(apart=steps.transform("max") / steps.transform("min"))
    wrong = apart[apart["apart"] > _REPEATS_APART]
    if len(wrong):
        first = wrong.iloc[0]
        raise ConfigError(
            f"{table.source}: repeats of {_named(first)} differ by a factor of {first.apart:.3g}; "
            "check the unit of the latency"
        )


def _check_devices(table: LatencyTable, *, apart: float) -> None:
    """Ratios of pairs of devices: over all workloads, and of each workload."""
    keys = ["device", *WORKLOAD]
    log_steps = np.log(table.rows.groupby(keys, dropna=False)["step_seconds"].median()).unstack("device")
    for index, one in enumerate(log_steps.columns):
        for other in log_steps.columns[index + 1 :]:
            ratio = (log_steps[one] - log_steps[other]).dropna()
            if len(ratio) == 0:
                continue
            middle = float(ratio.median())
            if abs(middle) > np.log(apart):
                raise ConfigError(
                    f"{table.source}: {one} takes {np.exp(middle):.3g} times as long as {other}; check the "
                    f"units of their latencies, for a factor above {apart:g} is taken for a wrong unit"
                )
            _check_one_pair(ratio, one=one, other=other, middle=middle, source=table.source)


def _check_one_pair(ratio: pd.Series, *, one: str, other: str, middle: float, source: str) -> None:
    far = (ratio - middle).abs() > np.log(_ONE_PAIR_APART)
    if far.any():
        model, batch_size, _ = far.index[far][0]
        raise ConfigError(
            f"{source}: {model}, batch {batch_size:g}: {one} takes {np.exp(ratio[far].iloc[0]):.3g} times as "
            f"long as {other}, and {np.exp(middle):.3g} times in the middle; check the unit of the latency"
        )


def _named(row: pd.Series) -> str:
    size = "" if np.isnan(row["image_size"]) else f", {row['image_size']:g} pixels"
    return f"{row['model']}, batch {row['batch_size']:g}{size} on {row['device']}"
