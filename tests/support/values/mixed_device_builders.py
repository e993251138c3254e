"""Trials over devices that are not alike, and pools for them."""

from typing import Any

from cluster_builders import FAST, SLOW, inventory, pool
from plan_builders import device, planned, point

from orchestrator.core.device import Device
from orchestrator.core.placement import Placement
from orchestrator.core.sweep import Point

FAST_POOL = pool("fast", device=FAST, max_nodes=1)
SLOW_POOL = pool("slow", device=SLOW, max_nodes=1)
POOLS = inventory(FAST_POOL, SLOW_POOL)
CPU = device()


def unequal(*devices: Device, **changes: Any) -> Point:
    """A point of kernel_split with those devices, the master's first."""
    return point(
        device=devices[0],
        other_devices=tuple(devices[1:]),
        num_workers=len(devices),
        **{"trainer": "kernel_split", "global_batch_size": 60, **changes},
    )


def placed(asked: Point, **changes: Any) -> Placement:
    """The one placement of its plan."""
    (found,) = planned(asked, **changes).placements
    return found


def skipped(asked: Point, **changes: Any) -> str:
    """Return the reason why the plan skips the point."""
    (found,) = planned(asked, **changes).skipped
    return found.reason


BOTH = placed(unequal(FAST, SLOW), inventory=POOLS)
