"""Batches of a native job in the framework that trains it."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from workloads.jobs import KerasJob, TorchJob
from workloads.native.code import find_builder
from workloads.origins import Origin
from workloads.spec import Framework

_CLASSES: Mapping[Framework, tuple[type[Any], str]] = {
    "torch": (TorchJob, "workloads.native.torch_data:TorchBatches"),
    "keras": (KerasJob, "workloads.native.keras_data:KerasBatches"),
}


def job_batches(
    framework: Framework,
    origin: Origin,
    options: Mapping[str, Any],
    *,
    global_batch_size: int,
    seed: int,
    pins: bool,
    passes: int = 1,
) -> Any:
    """Return the batches of a job, which their `load` builds.

    Args:
        passes: micro batches that a rank's part of a batch is divided into, for PyTorch alone.

    Raises:
        Exception: any exception of the import of the job's module.
    """
    job_class, path = _CLASSES[framework]
    build = find_builder(origin, framework, options, job_class=job_class)
    divided = {} if passes == 1 else {"passes": passes}
    return resolve_name(path)(build, global_batch_size=global_batch_size, seed=seed, pins=pins, **divided)
