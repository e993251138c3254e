"""State of a machine -> what a sweep lacks on it. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.core.device import Device
from orchestrator.plan.machine_state import Check, Diagnosis, GpuState, HostState, PlaceState, TrainerState

_LEAST_FREE_BYTES = 5e9
_MOST_LOAD_PER_CORE = 0.5
_MOST_BUSY_FRACTION = 0.05
_MOST_USED_BYTES = 1e9
_LEAST_POWER_FRACTION = 0.98


def list_checks(diagnosis: Diagnosis, devices: Mapping[str, Device]) -> tuple[Check, ...]:
    """List what is missing first, then the warnings.

    Args:
        devices: every known device by name.
    """
    checks = [
        *_accelerators(diagnosis, devices),
        *_trainers(diagnosis.trainers),
        *(check for place in diagnosis.places for check in _place(place)),
        *(_missing(service.failure) for service in diagnosis.services if service.failure),
        *_neighbours(diagnosis.host),
    ]
    return tuple(sorted(checks, key=lambda check: check.status != "missing"))


def _missing(message: str) -> Check:
    return Check(status="missing", message=message)


def _warning(message: str) -> Check:
    return Check(status="warning", message=message)


def _accelerators(diagnosis: Diagnosis, devices: Mapping[str, Device]) -> Iterator[Check]:
    host = diagnosis.host
    if host.gpu_failure:
        yield _missing(host.gpu_failure)
    for gpu in host.gpus:
        yield from _gpu(gpu, devices)
    if host.slice_type and not host.slice_device:
        yield _warning(
            f"TPU slice {host.slice_type}: no file of conf/device has this slice_type; a slice of several "
            "hosts is used as a pool of a cluster"
        )
    names = [gpu.device for gpu in host.gpus if not gpu.is_split]
    whole = dict.fromkeys(filter(None, names))
    if len(whole) > 1:
        yield _warning(
            f"Ray does not tell two kinds of GPU apart ({', '.join(whole)}); set executor=inline, or name "
            "one of them in a sweep"
        )
    for name in filter(None, [*whole, host.slice_device]):
        yield from _check_users(name, [trainer for trainer in diagnosis.trainers if name in trainer.devices])


def _check_users(device: str, trainers: Sequence[TrainerState]) -> Iterator[Check]:
    """Check that a trainer can use a device, among those that support its kind."""
    is_used = any(device in trainer.usable_devices for trainer in trainers)
    if not is_used:
        yield _missing(f"no trainer can use {device}; see below")
    for trainer in trainers:
        if not trainer.missing and trainer.devices[device]:
            make = _warning if is_used else _missing
            yield make(f"{trainer.name} cannot use {device}: {trainer.devices[device]}")


def _gpu(gpu: GpuState, devices: Mapping[str, Device]) -> Iterator[Check]:
    name = f"GPU {gpu.index} ({gpu.name})"
    if gpu.device is None:
        yield _warning(
            f"{name} is unknown: no file of conf/device has this name in driver_names; add a file, or the "
            "name to one"
        )
    if gpu.is_split:
        yield _missing(
            f"{name} is in MIG mode, and a trial needs a whole GPU: sudo nvidia-smi -i {gpu.index} -mig 0"
        )
    if gpu.is_persistent is False:
        yield _warning(
            f"{name} loads its driver for every process, which takes seconds: sudo nvidia-smi -pm 1"
        )
    rated = devices[gpu.device].tdp_watts if gpu.device else None
    if rated and gpu.power_limit_watts and gpu.power_limit_watts < _LEAST_POWER_FRACTION * rated:
        yield _warning(
            f"{name} is limited to {gpu.power_limit_watts:g} W of {rated:g} W, so that it is slower than a "
            f"usual card: sudo nvidia-smi -i {gpu.index} -pl {rated:g}"
        )
    if (gpu.busy_fraction or 0.0) > _MOST_BUSY_FRACTION or (gpu.memory_used_bytes or 0.0) > _MOST_USED_BYTES:
        yield _warning(
            f"{name} is used by another process: {gpu.busy_fraction or 0.0:.0%} busy, "
            f"{(gpu.memory_used_bytes or 0.0) / 1e9:.1f} GB in use; times measured beside it are not valid"
        )


def _trainers(trainers: tuple[TrainerState, ...]) -> Iterator[Check]:
    absent = [trainer for trainer in trainers if trainer.missing]
    make = _missing if len(absent) == len(trainers) else _warning
    for trainer in absent:
        yield make(f"{trainer.name}: {trainer.missing}")


def _place(place: PlaceState) -> Iterator[Check]:
    if not place.is_writable:
        yield _missing(f"{place.purpose}: {place.path} cannot be written to")
    elif place.free_bytes < _LEAST_FREE_BYTES:
        yield _warning(f"{place.purpose}: {place.free_bytes / 1e9:.1f} GB are free at {place.path}")


def _neighbours(host: HostState) -> Iterator[Check]:
    if host.load > _MOST_LOAD_PER_CORE * host.cores:
        yield _warning(describe_neighbours(host.load, host.cores))


def describe_neighbours(load: float, cores: int) -> str:
    """Describe what a load that other processes make does to trials."""
    return (
        f"other processes keep {load:.1f} of {cores} cores busy; trials beside them are marked noisy and "
        "decide nothing"
    )
