"""Owns the fork servers of one host: one per trainer environment, started when it is first needed."""

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.errors import TrialError
from orchestrator.core.trainer import TrainerInfo
from orchestrator.execute.machine import child_process as child
from orchestrator.execute.machine.child_process import link_code
from orchestrator.train.environment import without_hidden_settings
from orchestrator.train.process.channel import Channel
from orchestrator.train.process.temp_dirs import temporary_folder

OWN_PYTHON = ""
"""Stands for the one that the host names for a trainer, or else that of the agent itself."""

_READY = b"ready\n"
_ANSWER_SECONDS = 5.0  # a fork server forks in milliseconds; a busy host may take longer
_END_SECONDS = 5.0  # an idle fork server ends at once when its standard input does


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkServerAddress:
    """Address of a fork server, and the token that it expects first.

    Attributes:
        path: path of a socket on this host.
        is_far: True if that socket leads to a fork server of another host.
    """

    path: str
    token: str
    is_far: bool = False


@dataclass(frozen=True, slots=True)
class _ForkServerProcess:
    process: "subprocess.Popen[str]"
    address: ForkServerAddress
    log: Path


class HostAgent:
    """Starts fork servers and ends them. They die with the process that holds the agent, however it ends."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()
        self._folder = self._held.enter_context(temporary_folder("orchestrator-"))
        self._fork_servers: dict[tuple[str, str], _ForkServerProcess] = {}
        self._starting: dict[tuple[str, str], _ForkServerProcess] = {}
        link_code(self._folder / "code")

    def prepare(self, info: TrainerInfo, *, python: str) -> None:
        """Start a fork server that `fork_server` will ask for, and do not wait until it is ready.

        It imports its framework meanwhile. A failure is left to `fork_server`, which tries again.
        """
        key = info.name, python
        if key not in self._fork_servers and key not in self._starting:
            with contextlib.suppress(TrialError):
                self._starting[key] = self._spawn(info, python=python)

    def fork_server(self, info: TrainerInfo, *, python: str, start_seconds: float) -> ForkServerAddress:
        """Return the address of a responsive fork server for this trainer; start one if needed.

        Raises:
            TrialError: `environment`, when interpreter or framework do not start in `start_seconds`.
        """
        until = time.monotonic() + start_seconds
        running = self._fork_servers.get((info.name, python))
        if running is not None and not _answers(
            running.address, seconds=min(_ANSWER_SECONDS, start_seconds / 2)
        ):
            _kill(running.process)
            running = None
        if running is None:
            starting = self._starting.pop((info.name, python), None) or self._spawn(info, python=python)
            _wait_until_ready(starting, info, python=python, seconds=until - time.monotonic())
            running = self._fork_servers[info.name, python] = starting
        return running.address

    def _spawn(self, info: TrainerInfo, *, python: str) -> _ForkServerProcess:
        name = f"{info.name}-{secrets.token_hex(4)}"
        address = ForkServerAddress(path=str(self._folder / name), token=secrets.token_hex(16))
        log = self._folder / f"{name}.log"
        try:
            process = _popen(
                _interpreter(info, python), address, modules=info.preload, code=self._folder / "code", log=log
            )
        except OSError as error:
            message = f"trainer {info.name!r}: {error}; get it with: {info.install}"
            raise TrialError("environment", message) from error
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # of one that ended at once: `_wait_until_ready` says so
            process.stdin.write(address.token + "\n")
            process.stdin.flush()
        return _ForkServerProcess(process, address, log)

    def close(self) -> None:
        """End every fork server, and with it every worker."""
        for fork_server in (*self._fork_servers.values(), *self._starting.values()):
            child.end(fork_server.process, seconds=_END_SECONDS)
        self._fork_servers.clear()
        self._starting.clear()
        self._held.close()

    def __enter__(self) -> "HostAgent":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _interpreter(info: TrainerInfo, python: str) -> str:
    """The one that is named, or of this host's image, or our own."""
    of_image = os.environ.get(info.python_variable) if info.python_variable else None
    return python or of_image or sys.executable


def _popen(
    python: str, address: ForkServerAddress, *, modules: tuple[str, ...], code: Path, log: Path
) -> "subprocess.Popen[str]":
    with log.open("wb") as stderr:
        return subprocess.Popen(
            [
                python,
                "-P",
                "-m",
                "orchestrator.train.process.fork_server",
                address.path,
                json.dumps(modules),
            ],
            env=_environment(code),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is for the driver to handle
        )


def _environment(code: Path) -> dict[str, str]:
    """This process's variables, less what is not a trial's: hidden settings, Ray's threads and token."""
    ours = ("OMP_NUM_THREADS", "RAY_AUTH_TOKEN")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**without_hidden_settings(kept), "PYTHONPATH": str(code)}


def _wait_until_ready(
    starting: _ForkServerProcess, info: TrainerInfo, *, python: str, seconds: float
) -> None:
    """Wait until a fork server is ready; kill it, and raise TrialError, if it ends or takes too long."""
    try:
        _wait_for_first_line(starting.process, seconds=seconds)
    except OSError as error:  # TimeoutError and ConnectionError are kinds of it
        _kill(starting.process)  # it may hang in an import
        last = starting.log.read_text(errors="replace").strip().splitlines()[-1:]
        message = f"trainer {info.name!r}: {python} did not start: {'; '.join([str(error), *last])}"
        raise TrialError("environment", message) from error


def _wait_for_first_line(process: "subprocess.Popen[str]", *, seconds: float) -> None:
    """Wait until the fork server has imported its framework and reports that it is ready."""
    assert process.stdout is not None
    until, received = time.monotonic() + seconds, b""
    while len(received) < len(_READY):
        if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError(f"not ready after {seconds:.3g} s")
        piece = os.read(process.stdout.fileno(), len(_READY) - len(received))
        if not piece:
            break
        received += piece
    if received != _READY:
        raise ConnectionError("it ended at once")


def _answers(address: ForkServerAddress, *, seconds: float) -> bool:
    """Return whether a fork server is running and responsive; it refuses a connection without its token at
    once.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(seconds)
        channel = Channel(connection)
        try:
            connection.connect(address.path)
            channel.send({})
            channel.receive()
        except OSError:  # TimeoutError and ChannelClosedError are kinds of it
            return False
    return True


def _kill(process: "subprocess.Popen[str]") -> None:
    """End a fork server that does not listen, and all of its group. Its workers die with it."""
    os.killpg(process.pid, signal.SIGKILL)  # until it is reaped no other process can have its id
    child.end(process, seconds=_END_SECONDS)
