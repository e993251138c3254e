"""Inventory of this machine: cores, and accelerators that a device file recognises. Read-only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.device import Accelerators, Device, Node
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.execute.machine.gpus import Gpu, usable_gpus, visible_gpus
from orchestrator.train.environment import cpu_model
from orchestrator.train.gce_metadata import slice_type


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAccelerators:
    """Accelerators of this host, with the names that drivers and clouds give them.

    Attributes:
        gpus: GPUs that a trial can have whole.
        split_gpus: GPUs in MIG mode.
        slice_type: type of the TPU slice of this host; None without a TPU.
    """

    gpus: tuple[Gpu, ...] = ()
    split_gpus: tuple[Gpu, ...] = ()
    slice_type: str | None = None


def accelerators_here() -> HostAccelerators:
    """Ask the GPUs' driver, and look for a TPU.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the GPUs' driver fails.
    """
    gpus = visible_gpus()
    return HostAccelerators(
        gpus=tuple(gpu for gpu in gpus if not gpu.is_split),
        split_gpus=tuple(gpu for gpu in gpus if gpu.is_split),
        slice_type=find_slice_type(),
    )


def local_node(devices: Sequence[Device]) -> Node:
    """Describe this host. An accelerator that is none of those devices is not counted.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the GPUs' driver fails.
    """
    asks_for_gpus = any(device.kind == "gpu" for device in devices)
    accelerators = HostAccelerators(
        gpus=usable_gpus() if asks_for_gpus else (),
        slice_type=find_slice_type() if any(device.kind == "tpu" for device in devices) else None,
    )
    return Node(
        name="localhost",
        cpus=num_cores(),
        cpu_model=cpu_model(),
        devices=recognised(devices, accelerators),
    )


def recognised(devices: Iterable[Device], accelerators: HostAccelerators) -> Mapping[str, Accelerators]:
    """Match the accelerators with the known devices. Pure."""
    return {
        device.name: Accelerators(kind=device.kind, chips=device.chips, ids=ids)
        for device in devices
        if (ids := _find_ids(device, accelerators))
    }


def unrecognised(devices: Sequence[Device], accelerators: HostAccelerators) -> Mapping[str, int]:
    """Count the accelerators that are none of these devices, by the name that the driver gives them. Pure."""
    names = {name for device in devices for name in (*device.driver_names, device.slice_type)}
    present = [*(gpu.name for gpu in accelerators.gpus), *filter(None, [accelerators.slice_type])]
    return Counter(name for name in present if name not in names)


def is_part_of_slice(slice_type: str, devices: Iterable[Device]) -> bool:
    """Return whether a TPU slice is larger than every device of its generation, which is one host. Pure."""
    generation, _, size = slice_type.rpartition("-")
    sizes = [
        int(device.slice_type.rpartition("-")[2])
        for device in devices
        if device.slice_type and device.slice_type.rpartition("-")[0] == generation
    ]
    return bool(sizes) and size.isdecimal() and int(size) > max(sizes)


def find_slice_type(dev: Path = Path("/dev")) -> str | None:
    """Return the type of the TPU slice of this host; None without chips or without a type."""
    has_chips = any(dev.glob("accel[0-9]*")) or any(dev.glob("vfio/[0-9]*"))
    return slice_type() if has_chips else None


def _find_ids(device: Device, accelerators: HostAccelerators) -> tuple[str, ...]:
    if device.kind == "gpu":
        return tuple(gpu.uuid for gpu in accelerators.gpus if gpu.name in device.driver_names)
    if device.kind == "tpu" and device.slice_type and device.slice_type == accelerators.slice_type:
        return (device.slice_type,)
    return ()
