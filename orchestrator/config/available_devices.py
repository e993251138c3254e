"""The value `auto` of the axis `device`: the devices on which a command can run trials."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orchestrator.config.cluster import find_devices
from orchestrator.config.composer import Composer
from orchestrator.core.device import Device
from orchestrator.core.pool import Cluster
from orchestrator.execute.machine.inventory import accelerators_here, recognised

AUTO = "auto"

AvailableDevices = Callable[[], tuple[str, ...]]
"""Function that names the available devices. It may ask drivers, so only `auto` calls it."""


def known_devices(composer: Composer) -> Mapping[str, Device]:
    """Return all devices of `conf/device/`, the user's and the shipped ones."""
    return find_devices(composer.nodes({"device": composer.options("device")}))


def available_devices(composer: Composer, cluster: Cluster | None) -> tuple[str, ...]:
    """Name the devices of a cluster's pools; without a cluster, the CPU and this host's accelerators.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the GPUs' driver fails.
    """
    if cluster is not None:
        return tuple(dict.fromkeys(pool.device.name for pool in cluster.available_pools))
    accelerators = accelerators_here()
    if not accelerators.gpus and not accelerators.slice_type:
        return ("cpu",)
    return ("cpu", *recognised(known_devices(composer).values(), accelerators))


def with_available(values: Iterable[Any], available: AvailableDevices) -> tuple[Any, ...]:
    """Replace `auto` among the values of the axis `device`; a device that is named twice counts once."""
    named = tuple(values)
    if AUTO not in named:
        return named
    replaced = (device for value in named for device in (available() if value == AUTO else (value,)))
    return tuple(dict.fromkeys(replaced))
