"""Our trial and a script that take turns, block by block: what else the host does slows both down alike.

The trial is the product's own, from supervisor to worker. Before each part of its loop all its ranks meet,
and the supervisor answers; the answer is held back here until it is our turn.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from independent import Bare, Protocol
from trials import require_results

from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import TrialRecord
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.machine.agent import HostAgent
from orchestrator.execute.on_ray.tunnel import ForwarderPeer, SocketForwarder
from orchestrator.execute.trial.host import HostSession, LocalHost
from orchestrator.execute.trial.supervisor import build_record
from orchestrator.train.process.temp_dirs import temporary_folder

_GO_ON = b'"event": "met", "all": true'


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Seconds of the timed blocks of either side, taken in turns."""

    ours: tuple[float, ...]
    bare: tuple[float, ...]


class _Turns:
    """Turn-taking: our trial waits for its turn and announces it."""

    def __init__(self) -> None:
        self._turn = threading.Semaphore(0)
        self._waits = threading.Event()

    def wait_for_turn(self) -> None:
        """Wait for the turn; called by the trial."""
        self._waits.set()
        self._turn.acquire()

    def give_turn(self) -> None:
        """Let it go on, and return when it waits again or has ended."""
        self._waits.wait()
        self._waits.clear()
        self._turn.release()
        self._waits.wait()

    def end(self) -> None:
        """End the waiting."""
        self._waits.set()


class _Gate(ForwarderPeer):
    """The way to our worker, on which what lets it go on is held back."""

    def __init__(self, path: str, turns: _Turns) -> None:
        super().__init__(path)
        self._turns = turns

    def send(self, number: int, said: bytes) -> None:
        """Send at our turn, as `PeerTransport.send`."""
        if _GO_ON in said:
            self._turns.wait_for_turn()
        super().send(number, said)


class _GatedHost(LocalHost):
    """Host whose fork server is reached through a gate."""

    def __init__(self, attempt: Attempt, context: SweepContext, *, agent: HostAgent, turns: _Turns) -> None:
        super().__init__(attempt, context, fork_server_of=agent.fork_server)
        self._turns = turns

    @contextmanager
    def opened(self) -> Iterator[HostSession]:
        """Open a session, as `Host.opened`."""
        with super().opened() as host_session, temporary_folder("orchestrator-") as folder:
            gate = _Gate(host_session.fork_server.path, self._turns)
            way = folder / "fork_server"
            with SocketForwarder(way, gate), contextlib.closing(gate):
                yield replace(host_session, fork_server=replace(host_session.fork_server, path=str(way)))


def in_turns(
    placement: Placement, context: SweepContext, bare: Bare, protocol: Protocol, *, bare_first: bool
) -> Blocks:
    """Run both to their ends, each in fresh processes, and never at the same time."""
    turns = _Turns()
    seconds: list[float] = []
    with HostAgent() as agent, bare.started(protocol) as script, ThreadPoolExecutor(1) as pool:
        attempt = Attempt(placement=placement, number=1)
        host = _GatedHost(attempt, context, agent=agent, turns=turns)
        trial: Future[TrialRecord] = pool.submit(
            build_record, attempt, context, hosts=[host], on_progress=lambda _: None
        )
        trial.add_done_callback(lambda _: turns.end())
        sides: list[Callable[[], object]] = [turns.give_turn, lambda: seconds.append(script.block_seconds())]
        while not trial.done():
            for take in reversed(sides) if bare_first else sides:
                take()
    (record,) = require_results([trial.result()])
    return Blocks(ours=_timed(record, protocol), bare=tuple(seconds[-protocol.blocks :]))


def _timed(record: TrialRecord, protocol: Protocol) -> tuple[float, ...]:
    assert record.result is not None
    (seconds,) = record.result.block_seconds
    assert len(seconds) == protocol.blocks
    return seconds
