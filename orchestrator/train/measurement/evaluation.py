"""Quality on held-out data from a framework's outputs: computed here once, so that frameworks agree."""

from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.spec import Quality

Outputs = npt.NDArray[np.float32]

Predict = Callable[[Batch], Outputs]
"""Function from `Quality.arrays` of `chunk` samples to the float32 outputs that the measure is given."""


def compute_quality(
    predict: Predict, quality: Quality, batches: Batches, *, limit: int | None, chunk: int
) -> dict[str, float]:
    """Compute the workload's metrics on the first `limit` held-out samples, or on all.

    Args:
        chunk: samples given to `predict` at a time. The last chunk is filled up with zeros, for a compiler
            would compile again for another shape.
    """
    count = batches.num_held_out if limit is None else min(limit, batches.num_held_out)
    seen = list(_seen(predict, quality, batches, count=count, chunk=chunk))
    outputs = np.concatenate([output for output, _ in seen])
    held_out = {name: np.concatenate([rest[name] for _, rest in seen]) for name in seen[0][1]}
    metrics: dict[str, float] = resolve_name(quality.measure)(outputs, held_out)
    return metrics


def _seen(
    predict: Predict, quality: Quality, batches: Batches, *, count: int, chunk: int
) -> Iterator[tuple[Outputs, Batch]]:
    """Yield each chunk's outputs and other arrays: the network's input may be too large to keep."""
    for start in range(0, count, chunk):
        batch = batches.held_out(start, min(start + chunk, count))
        outputs = _padded(predict, {name: batch[name] for name in quality.arrays}, chunk)
        del batch[quality.reads]
        yield outputs, batch


def _padded(predict: Predict, samples: Batch, chunk: int) -> Outputs:
    count = len(next(iter(samples.values())))
    return predict({name: _filled(array, chunk - count) for name, array in samples.items()})[:count]


def _filled(array: npt.NDArray[Any], missing: int) -> npt.NDArray[Any]:
    return np.pad(array, ((0, missing), *[(0, 0)] * (array.ndim - 1))) if missing else array
