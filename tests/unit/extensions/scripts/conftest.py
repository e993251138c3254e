"""A clock that only work moves on, and the callback's parts by it, in this process and without a trial."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback


class Clock:
    """Time as the callback reads it, which moves only where a training works."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    process_time = perf_counter

    def work(self, seconds: float) -> None:
        self.now += seconds


class Parts:
    """Orders of parts of two steps, kept with what they measured: (seconds, samples)."""

    first: ClassVar = {"order": "part", "steps": 1}

    def __init__(self, count: int) -> None:
        self.count = count
        self.measured: list[tuple[float, int]] = []

    def next(self, said: dict[str, Any]) -> dict[str, Any]:
        self.measured.append((said["seconds"], said["samples"]))
        return {"order": "part", "steps": 2} if len(self.measured) < self.count else {"order": "stop"}

    def rates(self) -> Any:
        """All parts but the first step, as rows."""
        return np.array(self.measured[1:])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(callback, "time", clock)
    return clock


@pytest.fixture
def parts(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Parts]]:
    def start(count: int) -> Parts:
        parts = Parts(count)
        monkeypatch.setattr(callback, "_Alone", lambda: parts)
        reporter = callback._Reporter()
        monkeypatch.setattr(callback, "_REPORTERS", [reporter])
        watches.append(reporter._watch)
        return parts

    watches: list[Any] = []
    monkeypatch.delenv("ORCHESTRATOR_CALLBACK", raising=False)
    yield start
    for watch in watches:
        if watch._hook is not None:
            watch._hook.remove()
