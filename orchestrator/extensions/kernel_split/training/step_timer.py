"""Timers of one rank's steps in a split network; the training loop times the whole step."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from orchestrator.train.measurement.loop import Clock

Instant = Any
"""Point in device time: seconds on a CPU, an event in the device's queue elsewhere."""

Spans = Sequence[tuple[Instant, Instant]]

KEPT_STEPS = 100


class DeviceTimer:
    """Sum of spans of device time, without synchronisation."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now
        self._begin: Instant = None
        self._spans: list[tuple[Instant, Instant]] = []

    def __enter__(self) -> None:
        self._begin = self._now()

    def __exit__(self, *_: object) -> None:
        self._spans.append((self._begin, self._now()))

    def lap(self) -> Spans:
        """Return the spans added since the previous lap."""
        spans, self._spans = self._spans, []
        return spans


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeconds:
    """Seconds of one step, from its batch on.

    Attributes:
        away: time that rank 0 spent on split convolutions and their exchange; nothing on other ranks.
        convolving: by layer, this rank's own kernels.
    """

    whole: float
    away: float
    convolving: tuple[float, ...]


class StepTimer:
    """Remembers the last `KEPT_STEPS` steps.

    Args:
        clock: seconds, of a CPU.

    Attributes:
        away: runs while the master is about split convolutions.
        convolving: by layer, run while this rank convolves.
        num_steps: since the last `forget`.
    """

    def __init__(self, device: torch.device, *, num_layers: int, clock: Clock = time.perf_counter) -> None:
        now = clock if device.type == "cpu" else lambda: _event_on(device)
        self.away = DeviceTimer(now)
        self.convolving = [DeviceTimer(now) for _ in range(num_layers)]
        self.num_steps = 0
        self._whole = DeviceTimer(now)
        self._laps: deque[list[Spans]] = deque(maxlen=KEPT_STEPS)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Watch a step. What is convolved between two of them, as in an evaluation, does not count."""
        self._lap()
        with self._whole:
            yield
        self._laps.append(self._lap())
        self.num_steps += 1

    def forget(self) -> None:
        """Begin anew."""
        self._laps.clear()
        self.num_steps = 0

    def last(self, count: int) -> list[StepSeconds]:
        """Return the last `count` steps, or all remembered ones. The device must be idle."""
        laps = list(self._laps)[-count:]
        return [
            StepSeconds(whole=whole, away=away, convolving=tuple(convolving))
            for whole, away, *convolving in ([_seconds_in(spans) for spans in lap] for lap in laps)
        ]

    def rest_seconds(self) -> float | None:
        """Return the seconds of rank 0's median step outside convolutions and their exchange; None before a
        step.
        """
        rests = [seconds.whole - seconds.away for seconds in self.last(KEPT_STEPS)]
        return median(rests) if rests else None

    def _lap(self) -> list[Spans]:
        return [timer.lap() for timer in (self._whole, self.away, *self.convolving)]


def _event_on(device: torch.device) -> torch.Event:
    event = torch.Event(device.type, enable_timing=True)
    event.record()
    return event


def _seconds_in(spans: Spans) -> float:
    return math.fsum(_seconds_between(*span) for span in spans)


def _seconds_between(begin: Instant, end: Instant) -> float:
    seconds: float = end - begin if isinstance(begin, float) else begin.elapsed_time(end) / 1e3
    return seconds
