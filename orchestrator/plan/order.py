"""(placements, seed) -> the order in which they are started. Pure."""

import hashlib
from collections.abc import Iterable

from orchestrator.core.placement import Placement


def running_order(placements: Iterable[Placement], *, seed: int | None) -> tuple[Placement, ...]:
    """Measured trials before rehearsals, in rounds: each point once, shuffled, then its next repeat.

    So a host that grows slower for an hour does so for all points, and repeats of one point lie apart: what
    they vary by holds that drift. A trial's place in its round is drawn from the seed and its id alone: what
    is left of a sweep runs in the order in which it would have run. Without a seed, rounds keep their order.
    """
    return tuple(
        sorted(
            placements,
            key=lambda each: (
                each.provenance == "rehearsed",
                each.trial.repeat,
                _drawn(each.trial_id, seed),
            ),
        )
    )


def _drawn(trial_id: str, seed: int | None) -> bytes:
    """The place of a trial in its round; equal for all without a seed."""
    return b"" if seed is None else hashlib.sha256(f"{seed} {trial_id}".encode()).digest()
