"""(profiles of one's own, a table to learn from) -> what the same workloads take on other devices."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.core.errors import UnknownNameError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable
from orchestrator.extensions.profile_transfer.models.ensemble import ORCHESTRATOR, fit_blend
from orchestrator.extensions.profile_transfer.models.pairs import build_pair, find_profiles

_COUNTED = "its counted operations and bytes"
_UNCOUNTED = "no counts because its network is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One workload from one device to another.

    Attributes:
        workload: model and sizes in words.
        measured_seconds: step time on the anchor.
        step: on the target.
    """

    workload: str
    anchor: str
    measured_seconds: float
    target: str
    step: Estimate | Refusal


def transferred(own: LatencyTable, table: LatencyTable) -> Iterator[Transfer]:
    """Every profiled workload, from its device to each other one that the table pairs with it.

    Raises:
        UnknownNameError: a device of the profiles from which the table cannot predict.
    """
    for anchor in own.profiled_devices:
        if anchor not in table.profiled_devices:
            raise UnknownNameError("anchor device", anchor, known=table.profiled_devices)
        for target in table.devices:
            if target != anchor:
                yield from _transferred(own, table, anchor=anchor, target=target)


def _transferred(own: LatencyTable, table: LatencyTable, *, anchor: str, target: str) -> Iterator[Transfer]:
    pair = build_pair(table, anchor=anchor, target=target)
    if len(pair.models) == 0:
        return
    (fitted,) = fit_blend([pair])
    workloads, profiles = find_profiles(own, device=anchor)
    prediction = fitted.predict(profiles)[ORCHESTRATOR]
    low, high, in_range = (
        np.asarray(values) for values in (prediction.low, prediction.high, prediction.in_range)
    )
    is_counted = fitted.uses_counts(profiles)
    measured = f"{len(set(pair.models.tolist()))} models measured on both"
    for row, workload in enumerate(workloads):
        step: Estimate | Refusal = Refusal(
            reason="unlike all that were measured",
            to_measure=f"it on {target}",
        )
        if in_range[row]:
            step = Estimate(
                low=float(low[row]),
                likely=float(prediction.step_seconds[row]),
                high=float(high[row]),
                source=f"its profile, {_COUNTED if is_counted[row] else _UNCOUNTED}, and {measured}",
            )
        yield Transfer(
            workload=workload,
            anchor=anchor,
            measured_seconds=float(profiles.step_seconds[row]),
            target=target,
            step=step,
        )
