"""Resources and labels of a pool's node in Ray."""

from collections.abc import Mapping
from typing import Any

from orchestrator.core.device import Device
from orchestrator.core.pool import Pool, parse_region
from orchestrator.core.price import Provisioning

_DEVICE_LABEL = "orchestrator/device"
POOL_LABEL = "orchestrator/pool"
"""Node label with the name of the pool. Trials select nodes by it."""
_MARKET: Mapping[Provisioning, str] = {"on_demand": "on-demand", "spot": "spot"}


def build_resources(device: Device, count: int) -> dict[str, Any]:
    """Return Ray's resources of a node; the kind is a resource of that count too."""
    counted = {"gpu": {"GPU": count}, "tpu": {"TPU": device.chips * count}, "cpu": {}}[device.kind]
    kind = {f"accelerator_type:{device.ray_type}": 1} if device.ray_type else {}
    return {"CPU": device.cpus[count], **counted, **kind}


def labels_of_pool(pool: Pool) -> dict[str, str]:
    """Return the Ray labels of a pool's nodes."""
    return {POOL_LABEL: pool.name, **find_labels(pool.device, provisioning=pool.provisioning, zone=pool.zone)}


def find_labels(device: Device, *, provisioning: Provisioning, zone: str) -> dict[str, str]:
    """Return the Ray labels of a node's machine."""
    accelerator = {"ray.io/accelerator-type": device.ray_type} if device.ray_type else {}
    return {
        _DEVICE_LABEL: device.name,
        **accelerator,
        "ray.io/market-type": _MARKET[provisioning],
        "ray.io/availability-region": parse_region(zone),
        "ray.io/availability-zone": zone,
    }
