"""Facts about a trainer, available without importing its framework."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.core.device import DeviceKind
from orchestrator.core.pool import Environment
from orchestrator.core.trial_spec import Option, ProcessModel


@dataclass(frozen=True, slots=True, kw_only=True)
class RankContext:
    """Worker process of a trial, as its rank sees the others.

    Attributes:
        rank, addresses, kind, replicas, threads: as in `train.trainer.WorkerJob`.
        local_rank: index among the ranks of its host that have devices of the same kind.
        host: index of its host.
        num_hosts: number of hosts; ranks are numbered host by host.
        interface: network interface of its host towards the other ranks.
    """

    rank: int
    addresses: tuple[str, ...]
    kind: DeviceKind
    replicas: int
    threads: int
    local_rank: int = 0
    host: int = 0
    num_hosts: int = 1
    interface: str = "lo"


class StandIns(Protocol):
    """Function that names the CPU substitutes of a missing device's parts, as `gloo for nccl`. Pure."""

    def __call__(self, kind: DeviceKind, /, *, replicas: int, num_processes: int) -> tuple[str, ...]:
        """Return the substitutes in a rehearsal of that many replicas in that many processes."""


def no_stand_ins(_kind: DeviceKind, /, **_: int) -> tuple[str, ...]:
    """Name none: a rehearsal on a CPU replaces the device only."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """Request to train on one kind of device, which a trainer may refuse.

    Attributes:
        generation: generation of a TPU as in names of slices, `v4`; None for other devices.
        replicas: number of replicas of the whole trial.
        options: options of the trainer.
        has_layer: function of layer types; True if a network of the workload has a layer of one of them.
    """

    workload: str
    kind: DeviceKind
    generation: str | None
    precision: str
    replicas: int
    options: Mapping[str, Option]
    has_layer: Callable[..., bool]


Check = Callable[[TrainingRequest], str | None]
"""Returns the reason why a trainer refuses a request, in one line; None if it accepts."""


def accept_all(_request: TrainingRequest) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerInfo:
    """Description of a framework's data-parallel trainer.

    Attributes:
        version: raised when the trainer's code changes what it computes; part of every trial_id.
        path: `module:Class`, loaded in a worker only.
        packages: distributions that its environment must have.
        install: command that installs them.
        accelerator_packages: kind of device -> further distributions that training on it needs.
        accelerator_install: kind of device -> command that installs a build for it.
        environment: name of the image that has them, on the nodes of a cluster.
        other_environments: kind of device -> another image for it.
        python_variable: environment variable with the path of the interpreter; None: Ray's interpreter.
        precisions: kind of device -> precisions that it can set; other kinds are refused.
        precision_packages: precision -> one more distribution that it needs, and the command for it.
        check: reasons of its own against a request. Pure.
        process_model: (kind, options) -> how replicas are spread over processes; part of every trial_id.
        variables: rank -> environment variables of its process, set before the framework is imported. Pure.
        preload: modules that a fork server imports before it forks.
        fork_proven: kinds of device on which forked workers were shown to train; elsewhere they are spawned.
        synchronous_on: kinds of device without a queue: a step has finished when it returns.
        spans_hosts: kinds of device on which it trains replicas on several hosts.
        one_host: kind of device -> the reason why its replicas stay on one host.
        over_hosts: kind of device -> a note on every result of several hosts.
        options: option -> its possible values, the default first; a default is not sent to a worker.
        run_on: kinds of device on which its authors have run it, of an accelerator a single one; a trial
            measured on another has a note.
        trains: False for the trainer that computes nothing and shows the cost of everything else.
        rehearsed_with: names the substitutes, besides the device, in a rehearsal.
        takes_unequal_devices: True if its workers may have devices of different speed or kind.
        splits_convolutions: True if it splits convolutions over the workers by kernels.
        deals_batches: True if the replicas may have unequal shares of a batch.
        framework: framework of the native jobs that it trains, `torch` or `keras`; None: it trains none.
        native_path: `module:Class` that trains them.
        sharded_path, native_sharded_path: the same where weights are sharded over several replicas.
        splits_tensors: True if it splits the tensors of a native job's batch over devices.
        memory_keys: settings of `MemorySettings` that it has.
        runs_scripts: True for the trainer that starts a script in the place of training.
    """

    name: str
    version: int
    path: str
    packages: tuple[str, ...]
    install: str
    environment: Environment
    precisions: Mapping[DeviceKind, tuple[str, ...]]
    process_model: Callable[[DeviceKind, Mapping[str, Option]], ProcessModel]
    variables: Callable[[RankContext], Mapping[str, str]]
    preload: tuple[str, ...]
    fork_proven: tuple[DeviceKind, ...]
    accelerator_packages: Mapping[DeviceKind, tuple[str, ...]] = field(default_factory=dict)
    accelerator_install: Mapping[DeviceKind, str] = field(default_factory=dict)
    other_environments: Mapping[DeviceKind, Environment] = field(default_factory=dict)
    synchronous_on: tuple[DeviceKind, ...] = ()
    spans_hosts: tuple[DeviceKind, ...] = ()
    one_host: Mapping[DeviceKind, str] = field(default_factory=dict)
    over_hosts: Mapping[DeviceKind, str] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    precision_packages: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    check: Check = accept_all
    python_variable: str | None = None
    run_on: tuple[DeviceKind, ...] = ("cpu",)
    trains: bool = True
    rehearsed_with: StandIns = no_stand_ins
    takes_unequal_devices: bool = False
    splits_convolutions: bool = False
    deals_batches: bool = False
    memory_keys: tuple[str, ...] = ()
    framework: str | None = None
    native_path: str | None = None
    sharded_path: str | None = None
    native_sharded_path: str | None = None
    splits_tensors: bool = False
    runs_scripts: bool = False

    def environment_on(self, kind: DeviceKind) -> Environment:
        """Return the environment that a node with that kind of device needs."""
        return self.other_environments.get(kind, self.environment)

    @property
    def rehearses(self) -> bool:
        """True where a CPU can rehearse its code path for another device."""
        return "cpu" in self.precisions

    def packages_in(self, *precisions: str) -> tuple[str, ...]:
        """Return the distributions that it needs in these precisions."""
        more = self.precision_packages
        return (*self.packages, *(more[name][0] for name in precisions if name in more))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerEnvironment:
    """Python environment of a trainer, as probed.

    Attributes:
        python: path of the interpreter.
        versions: distribution -> version, of the trainer's packages and of Python.
        missing: None if trials can run; otherwise one line with the reason and the command that helps.
        accelerator_versions: kind of device -> versions of the software between framework and device, as
            `train.accelerator_versions` names them.
        accelerator_missing: kind of device -> why its trials cannot run, in one line with the command that
            helps; a kind on which they can run is absent.
        precision_missing: likewise precision -> why its trials cannot run.
    """

    python: str
    versions: Mapping[str, str]
    missing: str | None
    accelerator_versions: Mapping[DeviceKind, Mapping[str, str]] = field(default_factory=dict)
    accelerator_missing: Mapping[DeviceKind, str] = field(default_factory=dict)
    precision_missing: Mapping[str, str] = field(default_factory=dict)

    def versions_on(self, kinds: Iterable[DeviceKind]) -> dict[str, str]:
        """Return all versions that a trial on these kinds of device depends on."""
        of_devices = [self.accelerator_versions.get(kind, {}) for kind in kinds]
        return {name: version for part in (self.versions, *of_devices) for name, version in part.items()}

    def missing_on(self, kinds: Iterable[DeviceKind]) -> str | None:
        """Return why a trial on these kinds of device cannot run although the packages are there, or None."""
        reasons = (self.accelerator_missing.get(kind) for kind in kinds)
        return next(filter(None, reasons), None)
