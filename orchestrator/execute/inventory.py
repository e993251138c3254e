"""What this machine has: cores, and accelerators that a device file recognises. It only looks."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.core.device import Accelerators, Device, Node
from orchestrator.execute.cores import num_cores
from orchestrator.execute.gpus import Gpu, usable_gpus
from orchestrator.train.environment import cpu_model


def local_node(devices: Sequence[Device]) -> Node:
    """Describe this host. An accelerator that is none of those devices is not counted.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the GPUs' driver cannot be understood.
    """
    asks_for_gpus = any(device.kind == "gpu" for device in devices)
    return Node(
        name="localhost",
        cpus=num_cores(),
        cpu_model=cpu_model(),
        devices=recognised(devices, gpus=usable_gpus() if asks_for_gpus else (), slice_type=slice_type_of()),
    )


def recognised(
    devices: Sequence[Device], *, gpus: Sequence[Gpu], slice_type: str | None
) -> Mapping[str, Accelerators]:
    """Which of the devices those accelerators are. Pure.

    Args:
        slice_type: of the TPU slice that is this host; None where there is none.
    """
    return {
        device.name: Accelerators(kind=device.kind, chips=device.chips, ids=ids)
        for device in devices
        if (ids := _ids_of(device, gpus=gpus, slice_type=slice_type))
    }


def _ids_of(device: Device, *, gpus: Sequence[Gpu], slice_type: str | None) -> tuple[str, ...]:
    if device.kind == "gpu":
        return tuple(gpu.uuid for gpu in gpus if gpu.name in device.driver_names)
    if device.kind == "tpu" and slice_type is not None and slice_type == device.slice_type:
        return (slice_type,)
    return ()


def slice_type_of(dev: Path = Path("/dev")) -> str | None:
    """The slice that is this host, which has chips and says so. Written from documentation."""
    has_chips = (dev / "accel0").exists() or (dev / "vfio" / "0").exists()
    return os.environ.get("TPU_ACCELERATOR_TYPE") if has_chips else None
