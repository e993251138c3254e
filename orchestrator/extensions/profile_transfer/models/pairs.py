"""(latency table, anchor, target) -> the workloads measured on both: what one prediction learns from."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.table import WORKLOAD, LatencyTable
from orchestrator.extensions.profile_transfer.models.network_counts import count_outcomes

Floats = NDArray[np.float64]
Rows = NDArray[Any]
"""Which rows: a mask or indices."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """Workloads as they were measured on one device.

    Attributes:
        ops: names of the columns of `op_seconds`.
        op_seconds: [row, op] during one step.
        step_seconds: [row] latency of one step.
        counts: [row, count of `network_counts.COUNTS`]; NaN where the network is not known here.
    """

    ops: tuple[str, ...]
    op_seconds: Floats
    step_seconds: Floats
    counts: Floats

    def __getitem__(self, rows: Rows) -> "Profiles":
        return Profiles(
            ops=self.ops,
            op_seconds=self.op_seconds[rows],
            step_seconds=self.step_seconds[rows],
            counts=self.counts[rows],
        )

    @property
    def has_counts(self) -> NDArray[np.bool_]:
        """[row] True where the step is counted."""
        return np.asarray(np.isfinite(self.counts).all(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """The same workloads on an anchor, with profiles, and on a target.

    Attributes:
        profiles: profiles on the anchor.
        target_seconds: [row] latency of one step on the target.
        models, families: [row] names.
        workloads: [row] model and sizes in words; repeats share them, in every pair of a table.
    """

    anchor: str
    target: str
    profiles: Profiles
    target_seconds: Floats
    models: NDArray[np.str_]
    families: NDArray[np.str_]
    workloads: NDArray[np.str_]

    def __getitem__(self, rows: Rows) -> "Pair":
        return Pair(
            anchor=self.anchor,
            target=self.target,
            profiles=self.profiles[rows],
            target_seconds=self.target_seconds[rows],
            models=self.models[rows],
            families=self.families[rows],
            workloads=self.workloads[rows],
        )

    def without(self, models: frozenset[str]) -> "Pair":
        """The rows of all other models."""
        return self[~np.isin(self.models, list(models))]


def find_pairs(table: LatencyTable) -> tuple[Pair, ...]:
    """Every ordered pair of a profiled device and another one that share a workload.

    Raises:
        ConfigError: no pair exists.
    """
    ordered = permutations(table.devices, 2)
    found = [build_pair(table, anchor=anchor, target=target) for anchor, target in ordered]
    pairs = tuple(pair for pair in found if len(pair.models))
    if not pairs:
        profiled = ", ".join(table.profiled_devices) or "none"
        raise ConfigError(
            f"{table.source}: no device with op times shares a workload with another one; "
            f"devices: {', '.join(table.devices)}; with op times: {profiled}"
        )
    return pairs


def build_pair(table: LatencyTable, *, anchor: str, target: str) -> Pair:
    """The workloads of both, each repeat of the anchor with the target's repeat of the same name."""
    profiled = table.rows.loc[table.op_seconds.index]
    here = profiled[profiled["device"] == anchor].reset_index(names="row")
    there = table.rows.loc[table.rows["device"] == target, [*WORKLOAD, "repeat", "step_seconds"]]
    both = here.merge(there, on=[*WORKLOAD, "repeat"], suffixes=("", "_there"))
    return Pair(
        anchor=anchor,
        target=target,
        profiles=Profiles(
            ops=tuple(table.op_seconds.columns),
            op_seconds=table.op_seconds.loc[both["row"]].to_numpy(),
            step_seconds=both["step_seconds"].to_numpy(),
            counts=count_outcomes(both[list(WORKLOAD)].itertuples(index=False, name=None)),
        ),
        target_seconds=both["step_seconds_there"].to_numpy(),
        models=both["model"].to_numpy(dtype=np.str_),
        families=both["family"].to_numpy(dtype=np.str_),
        workloads=np.array(
            [_describe_workload(*row) for row in both[list(WORKLOAD)].to_numpy()], dtype=np.str_
        ),
    )


def find_profiles(table: LatencyTable, *, device: str) -> tuple[tuple[str, ...], Profiles]:
    """Return a device's profiled rows: [row] model and sizes as text, and the profiles."""
    profiled = table.rows.loc[table.op_seconds.index]
    here = profiled[profiled["device"] == device]
    words = tuple(_describe_workload(*row) for row in here[list(WORKLOAD)].to_numpy())
    profiles = Profiles(
        ops=tuple(table.op_seconds.columns),
        op_seconds=table.op_seconds.loc[here.index].to_numpy(),
        step_seconds=here["step_seconds"].to_numpy(),
        counts=count_outcomes(here[list(WORKLOAD)].itertuples(index=False, name=None)),
    )
    return words, profiles


def middle_of_repeats(pair: Pair) -> Pair:
    """Return one row per workload: the median of its repeats in every column.

    Repeats differ by about 1% in the published data: they add little information, and time to every fit.
    """
    _, first, rows = np.unique(pair.workloads, return_index=True, return_inverse=True)
    columns = np.column_stack((pair.profiles.op_seconds, pair.profiles.step_seconds, pair.target_seconds))
    middle = np.array([np.median(columns[rows == index], axis=0) for index in range(len(first))])
    ops = len(pair.profiles.ops)
    return Pair(
        anchor=pair.anchor,
        target=pair.target,
        profiles=Profiles(
            ops=pair.profiles.ops,
            op_seconds=middle[:, :ops],
            step_seconds=middle[:, ops],
            counts=pair.profiles.counts[first],
        ),
        target_seconds=middle[:, ops + 1],
        models=pair.models[first],
        families=pair.families[first],
        workloads=pair.workloads[first],
    )


def joined(parts: Sequence[Pair]) -> Pair:
    """The rows of all parts of one pair."""
    first = parts[0]
    return Pair(
        anchor=first.anchor,
        target=first.target,
        profiles=Profiles(
            ops=first.profiles.ops,
            op_seconds=np.concatenate([part.profiles.op_seconds for part in parts]),
            step_seconds=np.concatenate([part.profiles.step_seconds for part in parts]),
            counts=np.concatenate([part.profiles.counts for part in parts]),
        ),
        target_seconds=np.concatenate([part.target_seconds for part in parts]),
        models=np.concatenate([part.models for part in parts]),
        families=np.concatenate([part.families for part in parts]),
        workloads=np.concatenate([part.workloads for part in parts]),
    )


def some_repeats(pair: Pair, *, most: int) -> Pair:
    """Keep at most that many repeats of each workload, in their order."""
    order = np.argsort(pair.workloads, kind="stable")
    _, first = np.unique(pair.workloads[order], return_index=True)
    places = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return pair[np.sort(order[places < most])]


def _describe_workload(model: str, batch_size: float, image_size: float) -> str:
    size = "" if np.isnan(image_size) else f", {image_size:g} pixels"
    return f"{model}, batch {batch_size:g}{size}"
