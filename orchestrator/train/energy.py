"""Joules that counters of this host have counted. What has no counter is absent, and nothing is estimated."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import get_args

from orchestrator.core.device import DeviceKind
from orchestrator.train import nvml, rapl
from orchestrator.train.base import EnergyCounter

Joules = Mapping[str, float]
"""`accelerator`: of all accelerators of the trial. `host`: of all processors of the host and of their memory,
whoever used them."""

Meter = Callable[[], Joules]
"""What each counter shows now; only a difference means anything."""


def no_meter() -> Joules:
    """Of a rank that leaves it to another one of its host."""
    return {}


def meter_of(
    kind: DeviceKind,
    *,
    counters: Collection[EnergyCounter] = get_args(EnergyCounter),
    root: Path = rapl.ROOT,
    library: str = nvml.LIBRARY,
) -> Meter:
    """A meter of this host and of the accelerators that CUDA_VISIBLE_DEVICES names."""
    gpus = [each.strip() for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    found: dict[str, Callable[[], float]] = {}
    if "host" in counters:
        with suppress(OSError):
            found["host"] = rapl.HostEnergy(root).joules
    if "accelerator" in counters and kind == "gpu" and gpus:
        with suppress(OSError):
            found["accelerator"] = nvml.GpuEnergy(gpus, library=library).joules
    return partial(_read, found)


def used_between(before: Joules, after: Joules) -> Joules:
    """Of what was counted at both times."""
    return {name: after[name] - before[name] for name in before if name in after}


def _read(counters: Mapping[str, Callable[[], float]]) -> Joules:
    found: dict[str, float] = {}
    for name, counter in counters.items():
        with suppress(OSError):
            found[name] = counter()
    return found
