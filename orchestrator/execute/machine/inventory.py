"""Inventory of this machine: cores, and accelerators that a device file recognises. Read-only."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.device import Accelerators, Device, Node
from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.train.environment import cpu_model

VARIABLE = "CUDA_VISIBLE_DEVICES"
_QUERY = ("nvidia-smi", "--query-gpu=index,uuid,name", "--format=csv,noheader")
_DRIVER_SECONDS = 20.0  # the driver may have to wake the cards


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as its driver tells it apart from others and names it."""

    index: str
    uuid: str
    name: str


def usable_gpus() -> tuple[Gpu, ...]:
    """The GPUs that a trial can have.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: the driver's answer cannot be understood.
    """
    return visible_of(gpus_of(_answer()), setting=os.environ.get(VARIABLE))


def gpus_of(answer: str) -> tuple[Gpu, ...]:
    """Read the driver's table. Raises PlacementError for a line that is not one of it."""
    return tuple(_gpu_of(line.strip()) for line in answer.splitlines() if line.strip())


def visible_of(gpus: Sequence[Gpu], *, setting: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs that the variable names, in its order, as CUDA reads it: -1 ends the list.

    CUDA itself counts indices from the fastest GPU on, the driver from the first slot on: the same where all
    are alike. A UUID has one meaning.

    Raises:
        ConfigError: an entry that names none of them.
    """
    if setting is None or not gpus:
        return tuple(gpus)
    entries = [word.strip() for word in setting.split(",")] if setting.strip() else []
    named = entries[: entries.index("-1")] if "-1" in entries else entries
    return tuple(dict.fromkeys(_named(name, gpus, setting=setting) for name in named))


def _named(entry: str, gpus: Sequence[Gpu], *, setting: str) -> Gpu:
    meant = [
        gpu for gpu in gpus if entry == gpu.index or (entry[:4] == "GPU-" and gpu.uuid.startswith(entry))
    ]
    if len(meant) == 1:
        return meant[0]
    raise ConfigError(
        f"{VARIABLE}={setting!r}: {entry!r} names {len(meant)} of the GPUs here; an entry may be one of "
        f"{', '.join(gpu.index for gpu in gpus)}, or a UUID as nvidia-smi -L tells it; -1 is none"
    )


def _gpu_of(line: str) -> Gpu:
    try:
        index, uuid, name = line.split(", ", 2)
    except ValueError as error:
        raise PlacementError(
            f"{' '.join(_QUERY)} answers {line!r}, which is not an index, UUID and name; "
            f"repair the driver, or leave GPUs out of the sweep"
        ) from error
    return Gpu(index=index, uuid=uuid, name=name)


def _answer() -> str:
    """Return the driver's answer; empty where there is no working driver."""
    if shutil.which(_QUERY[0]) is None:
        return ""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_DRIVER_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


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
    """Match the accelerators with the known devices. Pure.

    Args:
        slice_type: type of the TPU slice of this host; None without a TPU.
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
