"""State of a machine or a cluster as `doctor` reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["missing", "warning"]
"""`missing`: a sweep cannot use something that is here, or cannot run; `warning`: it can, with a drawback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One GPU as its driver reports it; None for figures that the driver does not report.

    Attributes:
        device: name of its device file; None if no file has its name.
        is_split: True if it is in MIG mode.
        busy_fraction: share of the last second in which a kernel ran.
        is_persistent: True if the driver stays loaded between processes.
    """

    index: str
    name: str
    device: str | None
    driver: str
    is_split: bool
    power_limit_watts: float | None
    most_clock_hz: float | None
    busy_fraction: float | None
    memory_used_bytes: float | None
    memory_total_bytes: float | None
    is_persistent: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """This machine.

    Attributes:
        cores: cores that a trial can have.
        load: processes that ran or waited, mean of the last minute.
        gpu_failure: the reason why the driver lists no GPU; None if it works or is absent.
        slice_type: type of the TPU slice; None without a TPU.
        slice_device: name of the slice's device file; None if no file has its type.
    """

    hostname: str
    platform: str
    python: str
    cpu_model: str
    cores: int
    load: float
    memory_available_bytes: float
    memory_total_bytes: float
    gpus: tuple[GpuState, ...] = ()
    gpu_failure: str | None = None
    slice_type: str | None = None
    slice_device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerState:
    """One trainer with its environment.

    Attributes:
        builds: versions of the software between its framework and this host's accelerators.
        missing: why it cannot train at all; None if it can.
        devices: device of this host -> why the trainer cannot train on it; empty if it can.
    """

    name: str
    python: str
    versions: Mapping[str, str]
    builds: Mapping[str, str]
    missing: str | None
    devices: Mapping[str, str] = field(default_factory=dict)

    @property
    def usable_devices(self) -> tuple[str, ...]:
        """The devices of this host on which it trains."""
        return () if self.missing else tuple(name for name, reason in self.devices.items() if not reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceState:
    """A folder that a sweep writes to."""

    purpose: str
    path: str
    free_bytes: float
    is_writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Files in one folder that earlier commands have left, and that `doctor --clear` removes.

    Attributes:
        purpose: `errors`: whole texts of long errors; `temporary`: folders of processes that were killed.
        num_files: files, or folders of killed processes.
        size_bytes: of all of them.
    """

    purpose: Literal["errors", "temporary"]
    path: str
    num_files: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """A package or server that a sweep uses.

    Attributes:
        version: None if it is not installed.
        failure: why it cannot be used, with the command that helps; None if it can.
    """

    name: str
    version: str | None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A drawback, in one line with its remedy."""

    status: Status
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """State of this machine, and what a sweep lacks on it."""

    host: HostState
    trainers: tuple[TrainerState, ...]
    places: tuple[PlaceState, ...]
    services: tuple[ServiceState, ...]
    leftovers: tuple[Leftovers, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def is_ready(self) -> bool:
        """True if nothing that a sweep needs is missing."""
        return all(check.status != "missing" for check in self.checks)
