"""The worker processes of one trial: start them, read their messages, end them."""

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.core import codec
from orchestrator.core.errors import FailureKind, TrialError
from orchestrator.execute.machine.agent import ForkServerAddress
from orchestrator.train.process.channel import Channel, ChannelClosedError, Message
from orchestrator.train.trainer import WorkerJob

_ANSWER_SECONDS = 30.0  # a fork server forks in milliseconds; a busy host may take longer
_END_SECONDS = 10.0  # from SIGKILL to the end of a process


class WorkerGroup:
    """The workers of one trial, rank by rank. Leaving the context ends them all, however it is left.

    Args:
        fork_servers: fork server of each job's host.
        until: when they must have been started, on the monotonic clock.
    """

    def __init__(
        self,
        fork_servers: Sequence[ForkServerAddress],
        jobs: Sequence[WorkerJob],
        *,
        start_method: str,
        logs: Sequence[Path],
        until: float,
    ) -> None:
        self._fork_servers = {job.rank: server for job, server in zip(jobs, fork_servers, strict=True)}
        self._jobs = jobs
        self._start_method = start_method
        self._logs = logs
        self._until = until
        self._channels: dict[int, Channel] = {}  # of the ranks that live
        self._pids: dict[int, int] = {}

    def __enter__(self) -> "WorkerGroup":
        try:
            for job in self._jobs:
                self._start(job)
            for job in self._jobs:
                self._channels[job.rank].send(codec.to_plain(job))
        except (OSError, ChannelClosedError) as error:
            self._end()
            kind: FailureKind = "worker_lost" if time.monotonic() < self._until else "timeout"
            raise TrialError(kind, f"the fork server does not answer: {error}") from error
        except TrialError:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def next_event(self, *, until: float) -> tuple[int, Message] | None:
        """Return the next message of any rank as (rank, message), or None at `until` on the monotonic clock.

        A connection that ends without an exit status gives `{"event": "exited", "code": None}`.
        What has arrived is returned even if `until` lies in the past, so that a late caller makes progress.
        """
        is_late = False
        while True:
            for rank, channel in self._channels.items():
                if (message := channel.take()) is not None:
                    return self._received_from(rank, message)
            if is_late:
                return None
            is_late = time.monotonic() >= until
            for rank in self._readable(until):
                try:
                    self._channels[rank].read()
                except ChannelClosedError:
                    self._kill(
                        rank
                    )  # its fork server is gone, which would have ended what the worker had started
                    return self._received_from(rank, {"event": "exited", "code": None})

    def answer(self, message: Message) -> None:
        """Send a message to every rank that lives. A rank that is gone has an event of its own."""
        for channel in self._channels.values():
            with contextlib.suppress(ChannelClosedError):
                channel.send(message)

    def request_stop(self) -> None:
        """Send SIGTERM to the first worker of this host, which takes all ranks along."""
        pid = next(pid for rank, pid in self._pids.items() if not self._fork_servers[rank].is_far)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def wait_for_exits(self, *, seconds: float) -> None:
        """Give workers that have sent their last message time to exit by themselves."""
        self._wait(set(self._channels), until=time.monotonic() + seconds)

    def _start(self, job: WorkerJob) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        patience = min(_ANSWER_SECONDS, self._until - time.monotonic())
        connection.settimeout(max(patience, 0.001))  # 0 would mean never to wait
        channel = Channel(connection)
        self._channels[job.rank] = channel
        fork_server = self._fork_servers[job.rank]
        connection.connect(fork_server.path)
        channel.send(
            {
                "token": fork_server.token,
                "start_method": self._start_method,
                "log": str(self._logs[job.rank]),
                "variables": dict(job.variables),
            }
        )
        reply = channel.receive()
        if reply["event"] != "started":
            raise TrialError("environment", f"the fork server refused: {reply['message']}")
        connection.settimeout(None)
        self._pids[job.rank] = reply["pid"]

    def _received_from(self, rank: int, message: Message) -> tuple[int, Message]:
        if message.get("event") == "exited":
            self._channels.pop(rank).close()
        return rank, message

    def _readable(self, until: float) -> Sequence[int]:
        """Return the ranks with bytes to read, if only half of a message; none when `until` comes first."""
        poll = select.poll()
        ranks = {channel.fileno(): rank for rank, channel in self._channels.items()}
        for descriptor in ranks:
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
        return [ranks[descriptor] for descriptor, _ in ready]

    def _end(self) -> None:
        """Kill what still lives, and wait until all are gone. Its fork server reports each exit."""
        for rank in self._channels:
            self._kill(rank)
        self._wait(set(self._channels) & set(self._pids), until=time.monotonic() + _END_SECONDS)
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def _kill(self, rank: int) -> None:
        """End a worker and all that it started; one that was only just forked leads no group yet.

        On another host its fork server does so, when it hears no more from here.
        """
        if self._fork_servers[rank].is_far:
            self._channels[rank].fall_silent()
            return
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError, KeyError):  # KeyError: it was never started
                kill(self._pids[rank], signal.SIGKILL)

    def _wait(self, ranks: set[int], *, until: float) -> None:
        while ranks & set(self._channels) and time.monotonic() < until:
            self.next_event(until=until)
