"""A number that an attempt has: what it is called, what it means, and how it is worked out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec

Of = ParamSpec("Of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Generic[Of]):
    """A number of an attempt.

    Attributes:
        unit: SI, or USD; `1` is a number without one.
        meaning: what it is, and of a time: from what to what. All times but `launch_seconds` are of
            `time.perf_counter` in a worker, from idle device to idle device.
        of: what it is worked out from -> value; None where it is not known.
        header: what tables call it, with the unit that they show; empty where they do not show it.
    """

    key: str
    unit: str
    meaning: str
    of: Callable[Of, float | None]
    header: str = ""
