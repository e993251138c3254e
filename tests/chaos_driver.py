"""A command that is struck at one point of its way: `chaos_driver.py STRIKE TARGET WHEN NUMBER WORDS...`.

The product knows nothing of it: a function of it is wrapped here, in this process, before the command begins.
"""

import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from orchestrator.cli import main


def kill_driver() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang_up() -> None:
    """A closed terminal tells every process of its job."""
    os.killpg(os.getpgid(0), signal.SIGHUP)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def kill_worker() -> None:
    """The newest process that a nursery has forked."""
    nurseries = [each for each in _descendants() if "orchestrator.train.nursery" in _command_of(each)]
    workers = [each for each in nurseries if each.ppid() in {one.pid for one in nurseries}]
    if workers:
        max(workers, key=lambda each: each.create_time()).kill()


def kill_nursery() -> None:
    for each in _descendants():
        if "orchestrator.train.nursery" in _command_of(each):
            each.kill()
            return


def kill_supervisor() -> None:
    """The process in which Ray runs a trial."""
    for each in _descendants():
        if "ImplicitFunc" in _command_of(each):
            each.kill()


def kill_raylet() -> None:
    for each in _descendants():
        if "raylet/raylet" in _command_of(each):
            each.kill()


def lose_ledger() -> None:
    """What must never happen: to show that it is noticed."""
    Path("outputs/smoke/records.jsonl").unlink()
    kill_driver()


STRIKES: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        lose_ledger,
        hang_up,
        kill_driver,
        kill_nursery,
        kill_raylet,
        kill_supervisor,
        kill_worker,
        terminate,
    )
}


def arm(target: str, *, when: str, number: int, strike: Callable[[], None]) -> None:
    """Have `strike` called `before`, `after` or (of a write) `amid` a call of `module:attribute`."""
    module, _, path = target.partition(":")
    *parents, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in parents:
        owner = getattr(owner, each)
    real, calls = getattr(owner, name), 0

    def struck(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls != number:
            return real(*args, **kwargs)
        if when == "before":
            strike()
        elif when == "amid":
            _half_written(*args)
            strike()
        result = real(*args, **kwargs)
        if when == "after":
            strike()
        return result

    setattr(owner, name, struck)


def _half_written(path: Path, content: bytes, **_: Any) -> None:
    with path.open("ab") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        os.fsync(file.fileno())


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


if __name__ == "__main__":
    _, strike_name, armed, moment, nth, *words = sys.argv
    arm(armed, when=moment, number=int(nth), strike=STRIKES[strike_name])
    sys.exit(main(words))
