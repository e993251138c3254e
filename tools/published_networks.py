"""Measurements of published networks -> what the workloads of the same name here ask of a device."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.predictions.step_time.analytic import find_parts
from orchestrator.extensions.predictions.step_time.roofline import StepCost, count_step_cost
from orchestrator.extensions.profile_transfer.latency_data.table import WORKLOAD, LatencyTable
from orchestrator.extensions.profile_transfer.models.network_counts import CLASSES, WORKLOADS
from workloads.registry import workload
from workloads.shapes import UnsuitableInputError
from workloads.spec import Workload

_VALUE_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDevice:
    """Devices of an instance in the published data.

    Attributes:
        name: of its file in conf/device, or None.
        flops_per_second, bytes_per_second: fp32 and memory peak, NVIDIA's datasheets.
    """

    name: str | None
    gpu: str
    flops_per_second: float
    bytes_per_second: float


PUBLISHED_DEVICES: Mapping[str, PublishedDevice] = {
    "g3s.xlarge": PublishedDevice(name=None, gpu="M60", flops_per_second=4.825e12, bytes_per_second=1.6e11),
    "g4dn.xlarge": PublishedDevice(name="t4", gpu="T4", flops_per_second=8.1e12, bytes_per_second=3.2e11),
    "p2.xlarge": PublishedDevice(name=None, gpu="K80", flops_per_second=4.365e12, bytes_per_second=2.4e11),
    "p3.2xlarge": PublishedDevice(name="v100", gpu="V100", flops_per_second=1.57e13, bytes_per_second=9.0e11),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLatency:
    """One workload on one device: what it asks for, what the device could do, and what it took.

    Attributes:
        image_size: pixels of one edge.
    """

    device: str
    model: str
    image_size: int
    batch_size: int
    demand: StepCost
    parts: tuple[float, ...]
    step_seconds: float


def measured_zoo(table: LatencyTable) -> Iterator[PublishedLatency]:
    """The middle of the repeats of each workload on a published device, where the network is known here.

    Raises:
        ConfigError: the table has none.
    """
    known = _known(table)
    if known.empty:
        raise ConfigError(
            f"{table.source}: none of the published devices {', '.join(PUBLISHED_DEVICES)} "
            f"with one of the networks {', '.join(WORKLOADS)}"
        )
    middle = known.groupby(["device", *WORKLOAD])["step_seconds"].median().reset_index()
    for device, model, batch_size, image_size, seconds in middle.to_numpy():
        demand = _demand(model, int(batch_size), int(image_size))
        if demand is not None:
            of_device = PUBLISHED_DEVICES[device]
            parts = find_parts(
                demand,
                flops_per_second=of_device.flops_per_second,
                bytes_per_second=of_device.bytes_per_second,
            )
            yield PublishedLatency(
                device=device,
                model=model,
                image_size=int(image_size),
                batch_size=int(batch_size),
                demand=demand,
                parts=tuple(parts.tolist()),
                step_seconds=float(seconds),
            )


def repeat_deviation(table: LatencyTable) -> float:
    """Return the standard deviation of log seconds between repeats of one workload on one device.

    Raises:
        ConfigError: nothing was repeated.
    """
    known = _known(table)
    logs = np.log(known["step_seconds"])
    repeats = logs.groupby([known[column] for column in ("device", *WORKLOAD)])
    freedom = float((repeats.size() - 1).sum())
    if not freedom:
        raise ConfigError(
            f"{table.source}: nothing was measured twice, so what repeats differ by is not known"
        )
    squares = float((repeats.var() * (repeats.size() - 1)).sum())
    return math.sqrt(squares / freedom)


def _known(table: LatencyTable) -> pd.DataFrame:
    is_known = table.rows["model"].isin(WORKLOADS) & table.rows["device"].isin(PUBLISHED_DEVICES)
    return table.rows[is_known]


@cache
def build_spec(model: str, image_size: int) -> Workload:
    """Return the network here that a published one is. Raises UnsuitableInputError for such images."""
    knobs = {"image_size": image_size, "num_classes": CLASSES.get(image_size, 10), "momentum": 0.0}
    return workload(WORKLOADS[model], knobs)


@cache
def _demand(model: str, batch_size: int, image_size: int) -> StepCost | None:
    """None where the network here takes no such images."""
    try:
        spec = build_spec(model, image_size)
    except UnsuitableInputError:
        return None
    return count_step_cost(spec, global_batch_size=batch_size, value_bytes=_VALUE_BYTES)
