"""Weight changes: phases of a training that left the weights unchanged. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workloads.protocols import trained_by
from workloads.spec import Phase

Digests = Mapping[str, bytes]


def hash_arrays(state: Mapping[str, Any]) -> Digests:
    """Return digests of each array of `Trainer.state()` in brief, by `<network>.<weight>`."""
    return {name: hashlib.sha256(np.ascontiguousarray(array).data).digest() for name, array in state.items()}


def find_unmoved(phases: Sequence[Phase], before: Digests, after: Digests) -> tuple[str, ...]:
    """Find each `<phase>.<network>` with all weights unchanged, bit for bit.

    A weight that several phases train counts for none of them. A weight that is absent afterwards has moved
    to another rank.
    """
    moved: dict[str, bool] = {}
    for name in before:
        trainers = list(_list_trainers(name, phases))
        if len(trainers) == 1:
            moved[trainers[0]] = moved.get(trainers[0], False) or before[name] != after.get(name)
    return tuple(phase for phase, has_moved in moved.items() if not has_moved)


def _list_trainers(name: str, phases: Sequence[Phase]) -> Iterator[str]:
    """Return every phase that trains a weight, with the weight's network."""
    network, _, key = name.partition(".")
    for phase in phases:
        if network in phase.optimizers and trained_by(phase.protocol, network, key):
            yield f"{phase.name}.{network}"
