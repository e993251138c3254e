"""What is known of a trainer without importing its framework."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.device import DeviceKind
from orchestrator.core.spec import Option

ProcessModel = Literal["per_replica", "per_host"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerInfo:
    """One framework's data-parallel training, described.

    Attributes:
        version: raised when the trainer's code changes what it computes; part of every trial_id.
        path: `module:Class`, loaded in a worker only.
        packages: distributions that its environment must have.
        install: the command that gets them.
        precisions: labels it can set, per kind of device; a kind that is absent is refused.
        process_model: (kind, options) -> one worker process per replica, or one per host.
        variables: (rank, addresses) -> environment variables, in place before the framework is used.
        preload: modules that a nursery imports before it forks.
        fork_proven: kinds of device on which forked workers were shown to train; elsewhere they are spawned.
    """

    name: str
    version: int
    path: str
    packages: tuple[str, ...]
    install: str
    precisions: Mapping[DeviceKind, tuple[str, ...]]
    process_model: Callable[[DeviceKind, Mapping[str, Option]], ProcessModel]
    variables: Callable[..., Mapping[str, str]]
    preload: tuple[str, ...]
    fork_proven: tuple[DeviceKind, ...]


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
