"""What this machine has: cores, memory, and accelerators that a device file recognises. It only looks."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from orchestrator.core.device import Device, Node
from orchestrator.train.environment import cpu_model

_NVIDIA_SMI_SECONDS = 20.0  # the driver may have to wake the cards


def local_node(devices: Sequence[Device]) -> Node:
    """Describe this host. An accelerator that no device file names is not counted."""
    names = [*_gpu_names(), *_tpu_names()]
    found = Counter(device.name for name in names for device in devices if name in device.driver_names)
    return Node(
        name="localhost",
        cpus=len(os.sched_getaffinity(0)),
        cpu_model=cpu_model(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        devices=dict(found),
    )


def _gpu_names() -> list[str]:
    """Each GPU as its driver names it; none without a driver."""
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_NVIDIA_SMI_SECONDS)
    except subprocess.TimeoutExpired:
        return []
    if answer.returncode != 0:
        return []
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()]


def _tpu_names() -> list[str]:
    """The slice that this host is part of, as a TPU virtual machine says it. Written from documentation."""
    has_chips = Path("/dev/accel0").exists() or Path("/dev/vfio/0").exists()
    name = os.environ.get("TPU_ACCELERATOR_TYPE")
    return [name] if has_chips and name else []
