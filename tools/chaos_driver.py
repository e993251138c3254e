"""A command that is struck at one point of its way: `chaos_driver.py STRIKE TARGET WHEN NUMBER WORDS...`.

The product knows nothing of it: a function of it is wrapped here, in this process, before the command begins.
"""

import contextlib
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from orchestrator.cli import main


def driver() -> list[int]:
    return [os.getpid()]


def driver_without_its_ledger() -> list[int]:
    """Delete the ledger and return the driver: forbidden damage, made to show that it is noticed."""
    Path("outputs/smoke/records.jsonl").unlink()
    return driver()


def group() -> list[int]:
    """All processes of the driver's job: a closed terminal tells each."""
    return [-os.getpgid(0)]


def fork_server() -> list[int]:
    return [server.pid for server in _fork_servers()][:1]


def worker() -> list[int]:
    """Return the newest process that a fork server has forked."""
    found = _fork_servers()
    forked = [process for process in found if process.ppid() in {one.pid for one in found}]
    return [max(forked, key=lambda process: process.create_time()).pid] if forked else []


def supervisor() -> list[int]:
    """The process in which Ray runs a trial."""
    return [descendant.pid for descendant in _descendants_with("ImplicitFunc")]


def raylet() -> list[int]:
    """Return Ray's raylet, whose guard has its command line too."""
    return [one.pid for one in _descendants_with("raylet/raylet") if one.name() == "raylet"]


def send(number: signal.Signals, victims_of: Callable[[], list[int]]) -> None:
    """The signal, after a file `struck` says how many processes get it."""
    victims = victims_of()
    Path("struck").write_text(str(len(victims)))
    for victim in victims:
        os.kill(victim, number)


def set_clock(seconds: float) -> None:
    """Have this process's wall clock jump; the command goes on."""
    real = time.time
    time.time = lambda: real() + seconds
    Path("struck").write_text("1")


STRIKES: dict[str, Callable[[], None]] = {
    "kill_driver": partial(send, signal.SIGKILL, driver),
    "lose_ledger": partial(send, signal.SIGKILL, driver_without_its_ledger),
    "terminate": partial(send, signal.SIGTERM, driver),
    "hang_up": partial(send, signal.SIGHUP, group),
    "kill_fork_server": partial(send, signal.SIGKILL, fork_server),
    "kill_worker": partial(send, signal.SIGKILL, worker),
    "kill_supervisor": partial(send, signal.SIGKILL, supervisor),
    "kill_raylet": partial(send, signal.SIGKILL, raylet),
    "set_clock_back": partial(set_clock, -86_400.0),
    "set_clock_forward": partial(set_clock, 86_400.0),
}


def arm(target: str, *, when: str, number: int, name: str) -> None:
    """Have that strike come `before`, `after` or (of a write) `amid` a call of `module:attribute`."""
    module, _, path = target.partition(":")
    *parents, attribute = path.split(".")
    owner: Any = importlib.import_module(module)
    for parent in parents:
        owner = getattr(owner, parent)
    real, calls = getattr(owner, attribute), 0

    def struck(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls != number:
            return real(*args, **kwargs)
        if when == "before":
            STRIKES[name]()
        elif when == "amid":
            _half_written(*args)
            STRIKES[name]()
        result = real(*args, **kwargs)
        if when == "after":
            STRIKES[name]()
        return result

    setattr(owner, attribute, struck)


def _half_written(path: Path, content: bytes, **_: Any) -> None:
    with path.open("ab") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        os.fsync(file.fileno())


def _fork_servers() -> list[psutil.Process]:
    """And the workers that they have forked, which have the same command line."""
    return _descendants_with("orchestrator.train.process.fork_server")


def _descendants_with(words: str) -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if words in " ".join(child.cmdline()):
                found.append(child)
    return found


if __name__ == "__main__":
    _, strike_name, armed, moment, nth, *words = sys.argv
    arm(armed, when=moment, number=int(nth), name=strike_name)
    sys.exit(main(words))
