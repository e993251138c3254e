"""Published rates, for precisions, TPUs and numbers of devices without other measurements."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from orchestrator.core.device import DeviceKind
from orchestrator.predict.step_time.error_model import LogRatioPosterior

_MOST_NAMED = 4

Family = Literal["classifier", "transformer"]
"""Kind of network of which steps were published: a convolutional classifier of images, or a transformer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStep:
    """Time of a published step over the sum of parts of any GPU.

    Attributes:
        family: kind of network: rates of one family tell nothing about the other.
        workload: name of the network; those of a transformer's sizes differ.
        log: logarithm of that ratio.
    """

    device: str
    kind: DeviceKind
    precision: str
    family: Family
    workload: str
    log: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedFamily:
    """Published steps of a family: their spread, and their sizes.

    Attributes:
        device, workload: deviations of logarithms between devices, and between networks on one device.
        least, most: name of a count of `StepCost` -> its smallest and largest value on one replica.
    """

    device: float
    workload: float
    least: Mapping[str, float]
    most: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Posterior of log seconds over the sum of parts, from published rates."""

    learned: LogRatioPosterior
    source: str


def rated_of(
    steps: Iterable[PublishedStep], *, device: str, between_devices: float, workload: float
) -> Rated | None:
    """Return the rates of that device, else of all others; each workload counts once. None where there are
    none.

    Args:
        steps: published steps of one kind of device, in equivalent precisions.
        between_devices, workload: deviations of logarithms.
    """
    all_steps = tuple(steps)
    there = [step for step in all_steps if step.device == device]
    chosen = there or all_steps
    if not chosen:
        return None
    by_workload: dict[str, list[float]] = defaultdict(list)
    for step in chosen:
        by_workload[step.workload].append(step.log)
    devices = dict.fromkeys(step.device for step in chosen)
    precisions = dict.fromkeys(step.precision for step in chosen)
    sources = dict.fromkeys(step.source for step in chosen)
    of_device = 0.0 if there else between_devices * math.sqrt(1 + 1 / len(devices))
    whose = f"there ({_listed(sources)})" if there else f"for {_listed(devices)}"
    return Rated(
        learned=LogRatioPosterior(
            mean=fmean(fmean(logs) for logs in by_workload.values()),
            of_mean=math.hypot(workload / math.sqrt(len(by_workload)), of_device),
            of_one=workload,
        ),
        source=f"rough: {_listed(by_workload)} in {', '.join(precisions)} as published {whose}",
    )


def _listed(names: Iterable[str]) -> str:
    """Return the first names, and the number of the others."""
    first, others = [*names][:_MOST_NAMED], len([*names][_MOST_NAMED:])
    return ", ".join(first) + (f" and {others} more" if others else "")
