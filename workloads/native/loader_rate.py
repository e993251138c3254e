"""Rate of a native job's loader alone: what no device can train faster than."""

import time
from collections.abc import Iterator
from typing import Any

_SECONDS = 0.3
_LEAST_BATCHES = 4


def measure_loader_rate(parts: Iterator[Any], *, samples: int) -> float | None:
    """Return the samples that it makes in a second; None where the data end or fail before that is known.

    The first part is not counted: it starts the loader's processes, which then have made further parts.

    Args:
        parts: a rank's parts of batches, one after the other.
        samples: samples of a part.
    """
    try:
        next(parts)
        began, count = time.perf_counter(), 0
        for count, _ in enumerate(parts, start=1):
            if count >= _LEAST_BATCHES and time.perf_counter() - began >= _SECONDS:
                break
        seconds = time.perf_counter() - began
    except Exception:  # noqa: BLE001  # a user's data; the training that they fed has ended well
        return None
    return count * samples / seconds if count >= _LEAST_BATCHES else None
