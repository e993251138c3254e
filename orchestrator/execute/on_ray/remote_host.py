"""A further host of a trial, reached through an actor that holds the trial's bundle there."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.core.errors import TrialError
from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.machine.network import LOOPBACK
from orchestrator.execute.on_ray.agent import this_process_agent
from orchestrator.execute.on_ray.file_transfer import DriverFiles, staged_inputs
from orchestrator.execute.on_ray.ray_internals import list_draining_nodes
from orchestrator.execute.on_ray.stop_requests import stop_requested
from orchestrator.execute.on_ray.tunnel import Chunk, ForwarderPeer, SocketForwarder
from orchestrator.execute.trial.host import ForkServerOf, HostSession, LocalHost
from orchestrator.train.gce_metadata import is_preempted
from orchestrator.train.process.temp_dirs import temporary_folder

_ANSWER_SECONDS = 30.0  # for what takes milliseconds there
_GRACE_SECONDS = 5.0  # so that the host itself can say what went wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A part of a trial's placement group.

    Attributes:
        index: index of the bundle in the group.
        node_id: Ray's, of the node that has it.
        resources: resources of the bundle by Ray's names.
    """

    group: PlacementGroup
    index: int
    node_id: str
    resources: Mapping[str, float]


class RayHost:
    """Prepares itself from the moment it is made, while others do.

    Args:
        place: index of this host among the trial's hosts.
    """

    def __init__(
        self,
        attempt: Attempt,
        context: SweepContext,
        *,
        driver_files: DriverFiles | None,
        bundle: Bundle,
        place: int,
    ) -> None:
        self._node_id = bundle.node_id
        resources = bundle.resources
        others = {name: amount for name, amount in resources.items() if name not in ("CPU", "GPU")}
        there = PlacementGroupSchedulingStrategy(bundle.group, placement_group_bundle_index=bundle.index)
        # Its types leave out what its documentation has.
        part = ray.remote(concurrency_groups={"send": 1, "receive": 1})(_RemoteHostActor)  # type: ignore[call-overload]
        self._actor: Any = part.options(
            num_cpus=resources.get("CPU", 0),
            num_gpus=resources.get("GPU", 0),
            resources=others,
            scheduling_strategy=there,
        ).remote()
        self._start_seconds = context.deadlines.start_seconds
        self._seats = self._actor.open.remote(attempt, context, driver_files, place)

    @contextmanager
    def opened(self) -> Iterator[HostSession]:
        """Open a session on that host, as `Host.opened`."""
        with temporary_folder("orchestrator-") as folder:
            try:
                host_session = self._opened_there()
                way = folder / "fork_server"
                with SocketForwarder(way, self), self._ended():
                    yield replace(
                        host_session,
                        fork_server=replace(host_session.fork_server, path=str(way), is_far=True),
                    )
            finally:
                ray.kill(self._actor)

    def send(self, number: int, data: bytes) -> None:
        """Send to the other end, as `PeerTransport.send`; send nothing where it is gone."""
        with contextlib.suppress(ray.exceptions.RayError):
            self._actor.send.remote(number, data)

    def receive(self) -> Sequence[Chunk]:
        """Receive from the other end, as `PeerTransport.receive`."""
        try:
            pieces: Sequence[Chunk] = ray.get(self._actor.receive.remote())
        except ray.exceptions.RayError as error:
            raise ConnectionError("the host's part of the trial is gone") from error
        return pieces

    def take(self, folder: Path) -> tuple[str, ...]:
        """Take a checkpoint, as `Host.take`."""
        try:
            notes: tuple[str, ...] = ray.get(self._actor.take.remote(folder))
        except ray.exceptions.RayError as error:
            return (f"checkpoint {folder.name} was not kept: its host is gone ({type(error).__name__})",)
        return notes

    def is_leaving(self) -> bool:
        """Return whether the host is about to leave, as `Host.is_leaving`."""
        return is_draining(self._node_id)

    def num_oom_kills(self) -> int:
        """Return the number of out-of-memory kills, as `Host.num_oom_kills`; 0 for a host that is gone."""
        with contextlib.suppress(ray.exceptions.RayError):
            return int(ray.get(self._actor.num_oom_kills.remote(), timeout=_ANSWER_SECONDS))
        return 0

    def _opened_there(self) -> HostSession:
        seconds = self._start_seconds
        try:
            answer: HostSession | Failure = ray.get(self._seats, timeout=seconds + _GRACE_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            raise TrialError("timeout", f"a further host was not ready after {seconds:g} s") from error
        except ray.exceptions.OutOfMemoryError as error:
            raise TrialError("oom", "Ray killed a further host's part: the host ran low on memory") from error
        except ray.exceptions.RayActorError as error:
            raise TrialError("worker_lost", "a further host of the trial was lost") from error
        if isinstance(answer, Failure):
            raise TrialError(answer.kind, answer.message)
        return answer

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """End what runs there before the tunnel closes."""
        try:
            yield
        finally:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(self._actor.close.remote(), timeout=_ANSWER_SECONDS)
            ray.kill(self._actor)


def local_host(
    attempt: Attempt, context: SweepContext, *, fork_server_of: ForkServerOf, place: int
) -> LocalHost:
    """This one, with the accelerators that Ray gives this actor; on a network if it is one of several."""
    own_ip: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call] # Ray has no type there
    node_id = ray.get_runtime_context().get_node_id()
    return LocalHost(
        attempt,
        context,
        fork_server_of=fork_server_of,
        device_ids=[str(id_) for id_ in ray.get_gpu_ids()],
        place=place,
        ip=own_ip if attempt.placement.num_hosts > 1 else LOOPBACK,
        is_leaving=lambda: is_draining(node_id) or stop_requested(attempt) or is_preempted(),
    )


def is_draining(node_id: str) -> bool:
    """Return whether Ray drains the node; False if the head does not answer."""
    with contextlib.suppress(ray.exceptions.RayError, RuntimeError, OSError):
        return node_id in list_draining_nodes()
    return False


class _RemoteHostActor:
    """Ray actor on another host of a trial. One call of each name may wait; the others return at once."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def open(
        self, attempt: Attempt, context: SweepContext, driver_files: DriverFiles | None, place: int
    ) -> HostSession | Failure:
        """An error travels as a value: Ray would wrap it."""
        try:
            here = self._held.enter_context(staged_inputs(attempt, context, driver_files=driver_files))
            self._host = local_host(
                attempt, here, fork_server_of=this_process_agent().fork_server, place=place
            )
            host_session = self._held.enter_context(self._host.opened())
        except TrialError as error:
            return Failure(kind=error.kind, message=str(error))
        self._exit = ForwarderPeer(host_session.fork_server.path)
        return host_session

    @ray.method(concurrency_group="send")
    def send(self, number: int, data: bytes) -> None:
        """Send, as `ForwarderPeer.send`."""
        self._exit.send(number, data)

    @ray.method(concurrency_group="receive")
    def receive(self) -> Sequence[Chunk]:
        """Receive, as `ForwarderPeer.receive`."""
        return self._exit.receive()

    def take(self, folder: Path) -> tuple[str, ...]:
        """Take a checkpoint, as `LocalHost.take`."""
        return self._host.take(folder)

    def num_oom_kills(self) -> int:
        """Return the number of out-of-memory kills, as `LocalHost.num_oom_kills`."""
        return self._host.num_oom_kills()

    def close(self) -> None:
        """End fork servers, and with them workers."""
        self._exit.close()
        self._held.close()
        this_process_agent().close()
        this_process_agent.cache_clear()
