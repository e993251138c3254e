"""State of this machine: its hardware, environments, folders and services. Read-only."""

import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.core.settings import Settings
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.execute.machine.gpus import GpuReadings, gpu_readings, usable_gpus
from orchestrator.execute.machine.inventory import find_slice_type
from orchestrator.execute.trial.host_usage import host_use
from orchestrator.pipeline.components import find_tracking_server
from orchestrator.pipeline.leftovers import describe_leftovers
from orchestrator.plan.compatibility import reason_against_card
from orchestrator.plan.diagnosis import list_checks
from orchestrator.plan.machine_state import (
    Diagnosis,
    GpuState,
    HostState,
    PlaceState,
    ServiceState,
    TrainerState,
)
from orchestrator.train.environment import cpu_model, find_package_version
from orchestrator.train.registry import trainer_info
from workloads.data.sources import default_cache


def diagnose(settings: Settings, devices: Mapping[str, Device]) -> Diagnosis:
    """Inspect this machine for a sweep with these settings.

    Args:
        devices: every known device by name.
    """
    host = _host(devices)
    names = [*(gpu.device for gpu in host.gpus if not gpu.is_split), host.slice_device]
    present = {name: devices[name] for name in dict.fromkeys(filter(None, names))}
    cpu = {name: device for name, device in devices.items() if name == "cpu"}
    version = find_package_version("ray")
    absent = version is None and settings.executor == "ray"
    failure = "Ray is not installed; pip install 'ray[tune]', or set executor=inline" if absent else None
    seen = Diagnosis(
        host=host,
        trainers=tuple(
            _trainer(name, chosen.python, {**cpu, **present}) for name, chosen in settings.trainers.items()
        ),
        places=(
            _place("outputs", settings.outputs),
            _place("data cache", default_cache()),
        ),
        services=(ServiceState(name="Ray", version=version, failure=failure), _find_tracking_state(settings)),
        leftovers=describe_leftovers(),
    )
    return replace(seen, checks=list_checks(seen, devices))


def _host(devices: Mapping[str, Device]) -> HostState:
    use = host_use(tuple)
    slice_type = find_slice_type()
    gpus, failure = _gpus(devices)
    return HostState(
        hostname=platform.node(),
        platform=platform.platform(),
        python=platform.python_version(),
        cpu_model=cpu_model(),
        cores=num_cores(),
        load=os.getloadavg()[0],
        memory_available_bytes=use.memory_total_bytes - use.memory_bytes,
        memory_total_bytes=use.memory_total_bytes,
        gpus=gpus,
        gpu_failure=failure,
        slice_type=slice_type,
        slice_device=_named(slice_type, {device.slice_type: name for name, device in devices.items()}),
    )


def _gpus(devices: Mapping[str, Device]) -> tuple[tuple[GpuState, ...], str | None]:
    """Return the GPUs, or none and the reason why the driver lists none."""
    by_name = {driver: name for name, device in devices.items() for driver in device.driver_names}
    try:
        usable_gpus()  # CUDA_VISIBLE_DEVICES may name a GPU that is not here
        return tuple(_gpu(readings, by_name) for readings in gpu_readings()), None
    except (ConfigError, PlacementError) as error:
        return (), str(error)


def _gpu(readings: GpuReadings, by_name: Mapping[str, str]) -> GpuState:
    texts = readings.texts
    persistence = {"Enabled": True, "Disabled": False}
    return GpuState(
        index=texts["index"],
        name=texts["name"],
        device=by_name.get(texts["name"]),
        driver=texts["driver_version"],
        is_split=texts["mig.mode.current"] == "Enabled",
        power_limit_watts=readings.figure("power.limit"),
        most_clock_hz=readings.figure("clocks.max.sm"),
        busy_fraction=readings.figure("utilization.gpu"),
        memory_used_bytes=readings.figure("memory.used"),
        memory_total_bytes=readings.figure("memory.total"),
        is_persistent=persistence.get(texts["persistence_mode"]),
    )


def _named(key: str | None, names: Mapping[str | None, str]) -> str | None:
    return None if key is None else names.get(key)


def _trainer(name: str, python: str | None, devices: Mapping[str, Device]) -> TrainerState:
    info = trainer_info(name)
    environment = trainer_environment(info, python=python)
    supported = {name: device for name, device in devices.items() if device.kind in info.precisions}
    kinds = {device.kind for device in supported.values()}
    return TrainerState(
        name=name,
        python=environment.python,
        versions=environment.versions,
        builds={
            name: version
            for kind in kinds
            for name, version in environment.accelerator_versions.get(kind, {}).items()
        },
        missing=environment.missing,
        devices={
            name: environment.missing_on([device.kind])
            or reason_against_card(device, environment, trainer=info.name)
            or ""
            for name, device in supported.items()
        },
    )


def _place(purpose: str, path: Path) -> PlaceState:
    """Describe a folder, or the nearest one above it that exists."""
    nearest = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    return PlaceState(
        purpose=purpose,
        path=str(path),
        free_bytes=shutil.disk_usage(nearest).free,
        is_writable=os.access(nearest, os.W_OK),
    )


def _find_tracking_state(settings: Settings) -> ServiceState:
    try:
        server = find_tracking_server(settings)
    except ConfigError as error:  # its extension is absent, or refuses the address
        return ServiceState(name="tracking", version=None, failure=str(error))
    return (
        server.find_state() if server else ServiceState(name="MLflow", version=find_package_version("mlflow"))
    )
