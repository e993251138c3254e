"""What is known of a trainer without importing its framework."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.core.device import DeviceKind
from orchestrator.core.pool import Environment
from orchestrator.core.spec import Option, ProcessModel


class Variables(Protocol):
    """What a trainer's worker processes find in their environment before the framework is used. Pure."""

    def __call__(
        self,
        rank: int,
        addresses: tuple[str, ...],
        /,
        *,
        kind: DeviceKind,
        replicas: int,
        world_size: int,
        threads: int,
    ) -> Mapping[str, str]:
        """The environment variables of one rank; the arguments are as in `train.base.WorkerJob`."""


class StandIns(Protocol):
    """What stands in on a CPU for what belongs to a missing kind, as `gloo for nccl`. Pure."""

    def __call__(self, kind: DeviceKind, /, *, replicas: int, num_processes: int) -> tuple[str, ...]:
        """Of a rehearsal of that many replicas in that many processes."""


def no_stand_ins(_kind: DeviceKind, /, **_: int) -> tuple[str, ...]:
    """A rehearsal on a CPU replaces nothing but the device."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerInfo:
    """One framework's data-parallel training, described.

    Attributes:
        version: raised when the trainer's code changes what it computes; part of every trial_id.
        path: `module:Class`, loaded in a worker only.
        packages: distributions that its environment must have.
        install: the command that gets them.
        environment: of the image that has them, on the nodes of a cluster.
        precisions: labels it can set, per kind of device; a kind that is absent is refused.
        process_model: (kind, options) -> how replicas are spread over processes; part of every trial_id.
        variables: environment variables of a rank, in place before the framework is used.
        preload: modules that a nursery imports before it forks.
        fork_proven: kinds of device on which forked workers were shown to train; elsewhere they are spawned.
        options: knob -> the values that it may have, its default first.
        refusals: why a kind that is absent from `precisions` is refused, in the words that follow the name.
        refused_options: (kind of device, knob, value) -> why not there, in the words that follow the name.
        trains: False for one that computes nothing and only shows what all the rest costs.
        rehearsed_with: what stands in for what else than the device in a rehearsal.
        single_replica: precisions in which it trains one replica only, and why, in the words that follow.
        single_replica_batch_norm: (knob, value) with which it trains one replica only of a network with
            batch normalisation, and why, in the words that follow.
    """

    name: str
    version: int
    path: str
    packages: tuple[str, ...]
    install: str
    environment: Environment
    precisions: Mapping[DeviceKind, tuple[str, ...]]
    process_model: Callable[[DeviceKind, Mapping[str, Option]], ProcessModel]
    variables: Variables
    preload: tuple[str, ...]
    fork_proven: tuple[DeviceKind, ...]
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refusals: Mapping[DeviceKind, str] = field(default_factory=dict)
    refused_options: Mapping[tuple[DeviceKind, str, Option], str] = field(default_factory=dict)
    trains: bool = True
    rehearsed_with: StandIns = no_stand_ins
    single_replica: Mapping[str, str] = field(default_factory=dict)
    single_replica_batch_norm: Mapping[tuple[str, Option], str] = field(default_factory=dict)


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
