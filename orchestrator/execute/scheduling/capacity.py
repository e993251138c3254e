"""(trial, what runs, inventory) -> whether there is room for it. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from orchestrator.core.device import Node
from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Placement, RankGroup


def fits_now(
    placement: Placement,
    running: Sequence[Placement],
    *,
    inventory: Inventory,
    kept: Mapping[str, int],
) -> bool:
    """Return whether the trial fits beside the running ones.

    Args:
        kept: site -> nodes that it has and will need again: no other trial makes them go, because booting a
            node takes longer than many a trial.

    Each pool has room of its own, so that one without nodes does not delay trials of others; a trial
    with parts in several needs room in all of them. A CPU trial that is measured holds all cores of its node,
    so that nothing runs beside it; on one site a rehearsal never runs beside a measured trial.
    """
    names = site_names(placement, inventory)
    node_groups = [inventory.node_groups[name] for name in names]
    if not all(fits(placement, node_group.node, pool=node_group.pool_name) for node_group in node_groups):
        return False
    beside = [placement for placement in running if not names.isdisjoint(site_names(placement, inventory))]
    if any(placement_beside.provenance != placement.provenance for placement_beside in beside):
        return False
    needed = {name: count_nodes(name, [*beside, placement], inventory=inventory) for name in names}
    elsewhere = sum(
        max(count_nodes(name, running, inventory=inventory), kept.get(name, 0))
        for name in inventory.node_groups
        if name not in names
    )
    has_nodes = all(nodes <= inventory.node_groups[name].max_nodes for name, nodes in needed.items())
    return has_nodes and sum(needed.values()) + elsewhere <= inventory.max_nodes


def count_nodes(name: str, placements: Iterable[Placement], *, inventory: Inventory) -> int:
    """Nodes of a site that hold what the trials have there."""
    node_group = inventory.node_groups[name]
    return num_nodes(placements, node_group.node, pool=node_group.pool_name)


def fits(placement: Placement, node: Node, *, pool: str | None) -> bool:
    """Return whether idle nodes like this one can hold the trial's part in the pool, or on this host."""
    return all(_FreeNode.of(node).holds(load) for load in _list_loads(placement, pool))


def num_nodes(placements: Iterable[Placement], node: Node, *, pool: str | None) -> int:
    """Nodes like this one that hold what the trials have in the pool: the first with room take it.

    No node holds what a trial has of two hosts.
    """
    nodes: list[_FreeNode] = []
    for placement in placements:
        free = list(nodes)
        for load in _list_loads(placement, pool):
            taken = next((node for node in free if node.holds(load)), None)
            if taken is None:
                taken = _FreeNode.of(node)
                nodes.append(taken)
            else:
                free.remove(taken)
            taken.take(load)
    return len(nodes)


def site_names(placement: Placement, inventory: Inventory) -> frozenset[str]:
    """Return the names of the node groups on which the trial runs."""
    return frozenset(placement.pools or (inventory.host.name,))


def _list_loads(placement: Placement, pool: str | None) -> Iterator[Sequence[RankGroup]]:
    """Yield the rank groups that each node of the pool hosts."""
    for _, parts in groupby(placement.parts, key=attrgetter("host")):
        load = [part for part in parts if part.pool == pool]
        if load:
            yield load


@dataclass(slots=True, eq=False)
class _FreeNode:
    """Free resources of a node."""

    cpus: int
    devices: Counter[str]

    @classmethod
    def of(cls, node: Node) -> "_FreeNode":
        """All of it."""
        return cls(cpus=node.cpus, devices=Counter(node.counts))

    def holds(self, load: Sequence[RankGroup]) -> bool:
        needed = _list_devices(load)
        return sum(group.cpus for group in load) <= self.cpus and all(
            count <= self.devices[name] for name, count in needed.items()
        )

    def take(self, load: Sequence[RankGroup]) -> None:
        self.cpus -= sum(group.cpus for group in load)
        self.devices -= _list_devices(load)


def _list_devices(load: Iterable[RankGroup]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group in load:
        counts[group.device] += group.devices
    return counts
