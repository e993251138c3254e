"""Published rates of few networks -> what they tell of others, where nothing else is known. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from orchestrator.core.device import DeviceKind
from orchestrator.predict.prior import Learned


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedStep:
    """What a step of a published rate took over the sum of parts of any GPU.

    Attributes:
        log: of that ratio.
    """

    device: str
    kind: DeviceKind
    precision: str
    workload: str
    log: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """What published rates tell of the logarithm of any step there over its sum of parts."""

    learned: Learned
    source: str


def rated_of(
    known: Iterable[RatedStep], *, device: str, between_devices: float, workload: float
) -> Rated | None:
    """Of that device, else of all others; each workload counts once. None: there are none.

    Args:
        known: of one kind, in precisions that are alike.
        between_devices, workload: deviations of logarithms.
    """
    found = tuple(known)
    there = [each for each in found if each.device == device]
    chosen = there or found
    if not chosen:
        return None
    by_workload: dict[str, list[float]] = defaultdict(list)
    for each in chosen:
        by_workload[each.workload].append(each.log)
    devices = dict.fromkeys(each.device for each in chosen)
    precisions = dict.fromkeys(each.precision for each in chosen)
    sources = dict.fromkeys(each.source for each in chosen)
    of_device = 0.0 if there else between_devices * math.sqrt(1 + 1 / len(devices))
    whose = f"there ({', '.join(sources)})" if there else f"for {', '.join(devices)}"
    return Rated(
        learned=Learned(
            mean=fmean(fmean(logs) for logs in by_workload.values()),
            of_mean=math.hypot(workload / math.sqrt(len(by_workload)), of_device),
            of_one=workload,
        ),
        source=f"rough: {', '.join(by_workload)} in {', '.join(precisions)} as published {whose}",
    )
