"""Facts about a trainer, available without importing its framework."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.core.device import DeviceKind
from orchestrator.core.pool import Environment
from orchestrator.core.trial_spec import Option, ProcessModel


@dataclass(frozen=True, slots=True, kw_only=True)
class RankContext:
    """One worker process among those of its trial.

    Attributes:
        rank, addresses, kind, replicas, threads: as in `train.base.WorkerJob`.
        local_rank: its place among the ranks of its host that have devices like its own.
        host: the place of its host among the others.
        num_hosts: over which the ranks are spread, those of the first host first.
        interface: of this rank's host, by which it reaches the other ranks.
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
    """A rehearsal on a CPU replaces nothing but the device."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerInfo:
    """One framework's parallel training, described.

    Attributes:
        version: raised when the trainer's code changes what it computes; part of every trial_id.
        path: `module:Class`, loaded in a worker only.
        packages: distributions that its environment must have.
        install: the command that gets them.
        environment: of the image that has them, on the nodes of a cluster.
        other_environments: kind of device -> the environment that has them there instead.
        python_variable: that names the image's interpreter where it is not that of Ray; None: it is.
        precisions: labels it can set, per kind of device; a kind that is absent is refused.
        process_model: (kind, options) -> how replicas are spread over processes; part of every trial_id.
        variables: seat -> environment variables of its process, in place before the framework is used. Pure.
        preload: modules that a nursery imports before it forks.
        fork_proven: kinds of device on which forked workers were shown to train; elsewhere they are spawned.
        spans_hosts: kinds of device whose replicas it trains on several hosts.
        one_host: kind of device -> why its replicas stay on one host, in the words that follow "which".
        over_hosts: kind of device -> what a reader of a result on several hosts must know, in the words that
            follow the name.
        options: knob -> the values that it may have, its default first.
        run_on: kinds of device on which those who wrote it have run it; a trial measured on another says so.
        generations: of TPUs that it knows, as slices are called; none: all.
        refusals: why a kind that is absent from `precisions` is refused, in the words that follow the name.
        refused_options: (kind of device, knob, value) -> why not there, in the words that follow the name.
        trains: False for one that computes nothing and only shows what all the rest costs.
        rehearsed_with: what stands in for what else than the device in a rehearsal.
        single_replica: precisions in which it trains one replica only, and why, in the words that follow.
        single_replica_batch_norm: (knob, value) with which it trains one replica only of a network with
            batch normalisation, and why, in the words that follow.
        takes_unequal_devices: whether its workers may have devices of different speed or kind in one trial.
        splits_convolutions: over the workers by kernels, and trains nothing that has none to split.
        deals_batches: over the replicas in shares that need not be equal.
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
    other_environments: Mapping[DeviceKind, Environment] = field(default_factory=dict)
    spans_hosts: tuple[DeviceKind, ...] = ()
    one_host: Mapping[DeviceKind, str] = field(default_factory=dict)
    over_hosts: Mapping[DeviceKind, str] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    python_variable: str | None = None
    run_on: tuple[DeviceKind, ...] = ("cpu",)
    generations: tuple[str, ...] = ()
    refusals: Mapping[DeviceKind, str] = field(default_factory=dict)
    refused_options: Mapping[tuple[DeviceKind, str, Option], str] = field(default_factory=dict)
    trains: bool = True
    rehearsed_with: StandIns = no_stand_ins
    single_replica: Mapping[str, str] = field(default_factory=dict)
    single_replica_batch_norm: Mapping[tuple[str, Option], str] = field(default_factory=dict)
    takes_unequal_devices: bool = False
    splits_convolutions: bool = False
    deals_batches: bool = False

    def environment_on(self, kind: DeviceKind) -> Environment:
        """Return the environment that a node with that kind of device needs."""
        return self.other_environments.get(kind, self.environment)

    @property
    def rehearses(self) -> bool:
        """True where a CPU can rehearse its code path for another device."""
        return "cpu" in self.precisions


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerEnvironment:
    """The Python that a trainer runs in, as a probe found it.

    Attributes:
        python: path of the interpreter.
        versions: distribution -> version, of the trainer's packages and of Python.
        missing: None if trials can run, otherwise why not and how to get it, in one line.
    """

    python: str
    versions: Mapping[str, str]
    missing: str | None
