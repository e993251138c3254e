"""One host of a trial: what a supervisor needs of it, and the host that the supervisor itself runs on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.core.placement import Attempt
from orchestrator.core.trainer import TrainerInfo
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.machine.agent import ForkServerAddress
from orchestrator.execute.machine.cgroup import num_oom_kills
from orchestrator.execute.machine.network import LOOPBACK, find_interface, reserved_addresses
from orchestrator.execute.trial.checkpoints import TrialCheckpoints, open_checkpoints_of_trial
from orchestrator.execute.trial.records import find_log
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import CheckpointOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSession:
    """Sockets and devices that a host holds ready for a trial's workers.

    Attributes:
        addresses: `ip:port`, one for each of them.
        interface: network interface towards the workers of other hosts.
        device_ids: accelerators of the host that they may use, as their framework numbers them; those that
            are not alike in the order of ranks.
        checkpoint_options: options for the workers; None without checkpoints.
        logs: a folder there, for a file of each of them.
    """

    fork_server: ForkServerAddress
    addresses: tuple[str, ...]
    interface: str
    device_ids: tuple[str, ...]
    checkpoint_options: CheckpointOptions | None
    logs: Path


class ForkServerOf(Protocol):
    """Knows the fork servers of a host: `HostAgent.fork_server`, or a way to an agent elsewhere."""

    def __call__(self, info: TrainerInfo, *, python: str, start_seconds: float) -> ForkServerAddress:
        """The address of the fork server of a trainer."""


class Host(Protocol):
    """A host of one attempt at a trial."""

    def opened(self) -> AbstractContextManager[HostSession]:
        """Prepare the host for its workers. Raises TrialError with the kind of the failure."""

    def take(self, folder: Path) -> tuple[str, ...]:
        """Keep a checkpoint that one of its workers has made: why it could not be kept, in lines."""

    def is_leaving(self) -> bool:
        """Return whether the host is known to leave soon, such as a preempted spot machine."""

    def num_oom_kills(self) -> int:
        """Processes beside the workers, and workers, that its kernel has killed for memory so far."""


class LocalHost:
    """The host of this process.

    Args:
        place: index of this host among the trial's hosts.
        ip: address of this host for the workers of other hosts.
        is_leaving: as `Host.is_leaving`.
    """

    def __init__(
        self,
        attempt: Attempt,
        context: SweepContext,
        *,
        fork_server_of: ForkServerOf,
        device_ids: Sequence[str] = (),
        place: int = 0,
        ip: str = LOOPBACK,
        is_leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self._placement = attempt.placement
        self._context = context
        self._logs = context.folder / find_log(attempt)
        self._fork_server_of = fork_server_of
        self._device_ids = tuple(device_ids)
        self._num_processes = sum(group.num_processes for group in self._placement.on_host(place))
        self._ip = ip
        self._is_leaving = is_leaving
        self._shelf = TrialCheckpoints(None, None)

    @contextmanager
    def opened(self) -> Iterator[HostSession]:
        """Open a session, as `Host.opened`."""
        placement, context = self._placement, self._context
        info = trainer_info(placement.trial.trainer)
        fork_server = self._fork_server_of(
            info, python=context.pythons[info.name], start_seconds=context.deadlines.start_seconds
        )
        self._logs.mkdir(parents=True, exist_ok=True)
        with (
            open_checkpoints_of_trial(placement, context.checkpointing) as self._shelf,
            reserved_addresses(self._num_processes, ip=self._ip) as addresses,
        ):
            yield HostSession(
                fork_server=fork_server,
                addresses=addresses,
                interface=find_interface(self._ip),
                device_ids=self._device_ids,
                checkpoint_options=self._shelf.checkpoint_options,
                logs=self._logs,
            )

    def take(self, folder: Path) -> tuple[str, ...]:
        """Take a checkpoint, as `Host.take`."""
        return self._shelf.take(folder)

    def is_leaving(self) -> bool:
        """Return whether the host is about to leave, as `Host.is_leaving`."""
        return self._is_leaving()

    def num_oom_kills(self) -> int:
        """Return the number of out-of-memory kills, as `Host.num_oom_kills`."""
        return num_oom_kills()
