"""State collected before planning: devices, environments, data sets and existing records."""

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.core.estimate import CompiledStep, NotCompiled
from orchestrator.core.inventory import Inventory, of_cluster, of_host
from orchestrator.core.memory_fit import NoFit, Verdict
from orchestrator.core.printable import command_text
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.execute.machine.agent import OWN_PYTHON
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.execute.machine.inventory import (
    HostAccelerators,
    accelerators_here,
    is_part_of_slice,
    local_node,
    recognised,
    unrecognised,
)
from orchestrator.pipeline.components import build_price_book, list_command_words, open_ledger
from orchestrator.plan.diagnosis import describe_neighbours
from orchestrator.plan.memory import MemoryKey
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.requests import RequestedPoint, request_trials
from orchestrator.plan.trial_specs import data_needed, unsuitable
from orchestrator.record.driver_environment import code_sha256, driver_environment
from orchestrator.record.ledger import read_ledgers
from orchestrator.train.registry import trainer_info, trainers
from workloads.data.sources import NO_FILE, DataRef, default_cache
from workloads.origins import Origin
from workloads.ready_data import ready
from workloads.registry import find_origin

if TYPE_CHECKING:
    from workloads.data.download import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightState:
    """State collected before planning.

    Attributes:
        data: (data set, requested source) -> resolved data.
        requested: the trials of the sweep, with the slots of the inventory that they could run in.
        ledgers: records of every sweep in the outputs folder, and of this sweep also those in its archive.
        driver: versions and variables of this process; part of every record.
        price_book: prices of the sweep's devices and pools, looked up once.
        memory_fits: answers of the compilers of absent devices about the memory of steps.
        compiled_steps: their answers about the time of steps.
    """

    inventory: Inventory
    environments: Mapping[str, TrainerEnvironment]
    data: Mapping[tuple[str, str], DataRef]
    requested: tuple[RequestedPoint, ...]
    ledgers: Mapping[str, tuple[TrialRecord, ...]]
    driver: Mapping[str, str]
    price_book: PriceBook
    memory_fits: Mapping[MemoryKey, Verdict | NoFit] = field(default_factory=dict)
    compiled_steps: Mapping[MemoryKey, CompiledStep | NotCompiled] = field(default_factory=dict)

    @property
    def records(self) -> tuple[TrialRecord, ...]:
        """Records of all sweeps."""
        return tuple(chain.from_iterable(self.ledgers.values()))


def inspect(settings: Settings, *, download: bool, progress: "Progress | None" = None) -> PreflightState:
    """Inspect this machine, the trainers' environments, the data and the ledgers.

    Args:
        download: True if missing data may be downloaded.
        progress: receives the progress of a download.

    Raises:
        ConfigError: too few steps, data that is not available, or as `request_trials`.
        RecordError: a ledger or an archive that cannot be read.
    """
    _require_steps(settings)
    inventory = build_inventory(settings)
    environments = {name: _build_environment(settings, name) for name in settings.trainers}
    data = {
        key: DataRef(  # a job or script brings it with it
            id=key[0], path=Path(NO_FILE), description=spec.data_description, train_samples=spec.train_samples
        )
        if spec.data_description
        else find_data(settings, *key, download=download, progress=progress)
        for key, spec in data_needed(settings.sweep).items()
    }
    return PreflightState(
        inventory=inventory,
        environments=environments,
        data=data,
        requested=request_trials(
            settings.sweep,
            inventory=inventory,
            trainers=trainers(),
            start_methods={name: chosen.start_method for name, chosen in settings.trainers.items()},
            data_ids={wanted: ref.id for wanted, ref in data.items()},
        ),
        ledgers=load_ledgers(settings),
        driver=driver_environment(
            Path.cwd(),
            packages=_find_packages(settings),
        ),
        price_book=build_price_book(settings),
    )


def _require_steps(settings: Settings) -> None:
    """Refuse trials that are too short to be measured, with the command that is not."""
    points = settings.sweep.points
    short = [point for point in points if 0 < point.steps < point.timing.least_steps]
    if any(unsuitable(point) is None for point in short):
        words = [word for word in list_command_words(settings) if not word.startswith("steps=")]
        least = max(point.timing.least_steps for point in points)
        raise ConfigError(
            f"steps={short[0].steps} is below the {short[0].timing.least_steps} that the measurement "
            f"protocol needs; this has enough: {command_text([*words, f'steps={least}'])}"
        )


def find_origins(settings: Settings) -> dict[str, Origin]:
    """Return the import location of each workload of the sweep."""
    return {point.workload: find_origin(point.workload) for point in settings.sweep.points}


def hash_code(settings: Settings) -> str:
    """Hash the code: that of this project, and of the user's workloads in the sweep."""
    return code_sha256(_find_packages(settings))


def _find_packages(settings: Settings) -> set[Path]:
    origins = find_origins(settings).values()
    return {Path(origin.folder) for origin in origins if origin.folder and not origin.is_bundled}


def load_ledgers(settings: Settings) -> dict[str, tuple[TrialRecord, ...]]:
    """Return the records of every sweep; those of this one may lie in an archive."""
    sweep = settings.sweep.name
    return {**read_ledgers(settings.outputs, sweep=sweep), sweep: open_ledger(settings).records()}


def build_inventory(settings: Settings) -> Inventory:
    """Return the inventory of this host, or of the pools, without the host's accelerators."""
    if settings.cluster is None:
        return of_host(local_node(tuple(settings.sweep.devices.values())))
    return of_cluster(settings.cluster, host=local_node(()), is_fake=settings.is_fake)


def describe_busy_host(settings: Settings) -> tuple[str, ...]:
    """Warn where more processes than this host has cores would disturb the trials on it."""
    load, cores = os.getloadavg()[0], num_cores()
    is_busy = not settings.cluster and load > cores
    return (f"busy host: {describe_neighbours(load, cores)}",) if is_busy else ()


def unused_accelerators(settings: Settings, devices: Callable[[], Mapping[str, Device]]) -> tuple[str, ...]:
    """Describe the accelerators of this host that no point of the sweep uses, one line for each reason.

    Args:
        devices: returns every device that the sweep could name; called only if there is an accelerator.
    """
    if settings.cluster is not None:
        return ()
    try:
        accelerators = accelerators_here()
    except (ConfigError, PlacementError) as error:  # no failure of a sweep that asks for no GPU
        return (f"this host's GPUs are not used: {error}",)
    if not (accelerators.gpus or accelerators.split_gpus or accelerators.slice_type):
        return ()
    return tuple(_describe_unused(settings.sweep.devices, [*devices().values()], accelerators))


def _describe_unused(
    used: Container[str], devices: Sequence[Device], accelerators: HostAccelerators
) -> Iterator[str]:
    counts = {name: len(held.ids) for name, held in recognised(devices, accelerators).items()}
    if unused := {name: count for name, count in counts.items() if name not in used}:
        listed = ", ".join(f"{count} x {name}" for name, count in unused.items())
        yield f"this host's {listed}: in no point of the sweep; add device={','.join(unused)}"
    for gpu in accelerators.split_gpus:
        yield (
            f"this host's GPU {gpu.index} ({gpu.name}) is in MIG mode, and a trial needs a whole GPU: "
            f"sudo nvidia-smi -i {gpu.index} -mig 0"
        )
    unknown = dict(unrecognised(devices, accelerators))
    if (slice_type := accelerators.slice_type) and is_part_of_slice(slice_type, devices):
        del unknown[slice_type]
        yield (
            f"this host is one of several of the TPU slice {slice_type}; a sweep uses the slice as a pool "
            "with its topology: pools=gke, as conf/pools/gke.yaml declares some"
        )
    if unknown:
        listed = ", ".join(f"{count} x {name}" for name, count in unknown.items())
        yield (
            f"this host's {listed}: unknown, because no file of conf/device has this name in driver_names or "
            "slice_type; add a file, or the name to one"
        )


def _build_environment(settings: Settings, trainer: str) -> TrainerEnvironment:
    """Probe the trainer's environment on this host; on a real cluster, the nodes' image with its Ray's Python
    counts.
    """
    if settings.cluster is not None and not settings.is_fake:
        return TrainerEnvironment(python=OWN_PYTHON, versions={}, missing=None)
    return trainer_environment(trainer_info(trainer), python=settings.trainers[trainer].python)


def find_data(
    settings: Settings, name: str, source: str, *, download: bool, progress: "Progress | None" = None
) -> DataRef:
    """Find a data set. Raises ConfigError if it is not available."""
    try:
        return ready(
            name,
            source,
            cache=default_cache(),
            download=download,
            folder=settings.data_folder,
            progress=progress,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error
