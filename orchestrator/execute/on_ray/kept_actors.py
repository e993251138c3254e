"""Keeps the actor of a trial that has ended until the next trials are chosen.

Tune gives an ended trial's actor to a trial that asks for the same resources, but keeps it only for one that
waits already. On a cluster none does: Ray's autoscaler would start a node for a trial that waits beside a
running one. A new actor costs a placement group, two processes and their imports: seconds of every trial.
"""

from typing import Any


class KeptActors:
    """Actors that Tune must not end before the next trials are chosen.

    ray 2.60: Tune has no public way to keep an actor for later, so the minor version is pinned.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def keep(self, tune_controller: Any, trial: Any) -> None:
        """Keep the actor of a trial that is ending; call it before Tune decides about the actor."""
        cache, resources = tune_controller._actor_cache, trial.placement_group_factory
        cache.increase_max(resources)
        self._kept.append((cache, resources))

    def release(self) -> None:
        """Let Tune end the kept actors, but for those that a chosen trial takes; call it after the choice."""
        for cache, resources in self._kept:
            cache.decrease_max(resources)
        self._kept.clear()
