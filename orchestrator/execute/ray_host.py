"""A further host of a trial, reached through an actor that holds the trial's bundle there."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.core.errors import TrialError
from orchestrator.core.result import Failure
from orchestrator.execute.base import Attempt, Mission
from orchestrator.execute.folders import temporary_folder
from orchestrator.execute.host import LocalHost, NurseryOf, Seats
from orchestrator.execute.ray_agent import end_own_agent, own_agent
from orchestrator.execute.tunnel import Exit, Piece, Tunnel

_ANSWER_SECONDS = 30.0  # for what takes milliseconds there
_GRACE_SECONDS = 5.0  # so that the host itself can say what went wrong


class RayHost:
    """Prepares itself from the moment it is made, while others do.

    Args:
        bundle: its place in the trial's placement group.
        resources: what that bundle holds: CPU and GPU by these names, anything else by its own.
    """

    def __init__(
        self,
        attempt: Attempt,
        mission: Mission,
        *,
        group: PlacementGroup,
        bundle: int,
        resources: Mapping[str, float],
    ) -> None:
        others = {name: amount for name, amount in resources.items() if name not in ("CPU", "GPU")}
        there = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
        # Its types leave out what its documentation has.
        part = ray.remote(concurrency_groups={"send": 1, "receive": 1})(_Part)  # type: ignore[call-overload]
        self._actor: Any = part.options(
            num_cpus=resources.get("CPU", 0),
            num_gpus=resources.get("GPU", 0),
            resources=others,
            scheduling_strategy=there,
        ).remote()
        self._start_seconds = mission.deadlines.start_seconds
        self._seats = self._actor.open.remote(attempt, mission)

    @contextmanager
    def opened(self) -> Iterator[Seats]:
        """As `Host.opened`."""
        with temporary_folder("orchestrator-") as folder:
            try:
                seats = self._opened_there()
                way = folder / "nursery"
                with Tunnel(way, self), self._ended():
                    yield replace(seats, nursery=replace(seats.nursery, path=str(way), is_far=True))
            finally:
                ray.kill(self._actor)

    def send(self, number: int, said: bytes) -> None:
        """As `FarEnd.send`. To an end that is gone nothing is said."""
        with contextlib.suppress(ray.exceptions.RayError):
            self._actor.send.remote(number, said)

    def receive(self) -> Sequence[Piece]:
        """As `FarEnd.receive`."""
        try:
            pieces: Sequence[Piece] = ray.get(self._actor.receive.remote())
        except ray.exceptions.RayError as error:
            raise ConnectionError("the host's part of the trial is gone") from error
        return pieces

    def take(self, folder: Path) -> tuple[str, ...]:
        """As `Host.take`."""
        try:
            notes: tuple[str, ...] = ray.get(self._actor.take.remote(folder))
        except ray.exceptions.RayError as error:
            return (f"checkpoint {folder.name} was not kept: its host is gone ({type(error).__name__})",)
        return notes

    def num_oom_kills(self) -> int:
        """As `Host.num_oom_kills`; 0 of a host that is gone."""
        with contextlib.suppress(ray.exceptions.RayError):
            return int(ray.get(self._actor.num_oom_kills.remote(), timeout=_ANSWER_SECONDS))
        return 0

    def _opened_there(self) -> Seats:
        seconds = self._start_seconds
        try:
            answer: Seats | Failure = ray.get(self._seats, timeout=seconds + _GRACE_SECONDS)
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


def local_host(attempt: Attempt, mission: Mission, *, nursery_of: NurseryOf) -> LocalHost:
    """This one, with the accelerators that Ray gives this actor, among hosts of a network."""
    ip: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call] # Ray has no type there
    device_ids = [str(each) for each in ray.get_gpu_ids()]
    return LocalHost(attempt, mission, nursery_of=nursery_of, device_ids=device_ids, ip=ip)


class _Part:
    """What runs there. Only one call at a time of each name waits or talks; the others are short."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def open(self, attempt: Attempt, mission: Mission) -> Seats | Failure:
        """An error travels as a value: Ray would wrap it."""
        self._host = local_host(attempt, mission, nursery_of=own_agent().nursery)
        try:
            seats = self._held.enter_context(self._host.opened())
        except TrialError as error:
            return Failure(kind=error.kind, message=str(error))
        self._exit = Exit(seats.nursery.path)
        return seats

    @ray.method(concurrency_group="send")
    def send(self, number: int, said: bytes) -> None:
        """As `Exit.send`."""
        self._exit.send(number, said)

    @ray.method(concurrency_group="receive")
    def receive(self) -> Sequence[Piece]:
        """As `Exit.receive`."""
        return self._exit.receive()

    def take(self, folder: Path) -> tuple[str, ...]:
        """As `LocalHost.take`."""
        return self._host.take(folder)

    def num_oom_kills(self) -> int:
        """As `LocalHost.num_oom_kills`."""
        return self._host.num_oom_kills()

    def close(self) -> None:
        """End nurseries, and with them workers."""
        self._exit.close()
        self._held.close()
        end_own_agent()
