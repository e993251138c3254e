"""(trial, what runs, inventory) -> whether there is room for it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.core.device import Node
from orchestrator.core.inventory import Inventory, Site
from orchestrator.core.placement import Placement


def has_room(
    placement: Placement,
    running: Sequence[Placement],
    *,
    inventory: Inventory,
    kept: Mapping[str, int],
) -> bool:
    """Whether the trial can run beside the others.

    Args:
        kept: site -> nodes that it has and will need again: nobody else's trial makes them go, for to boot a
            node takes longer than many a trial.

    Each pool has room of its own, so that one whose nodes do not come holds up no other's trials. A CPU trial
    that is measured holds all cores of its node, so that nothing runs beside it; on one site a rehearsal
    never runs beside a measured trial.
    """
    site = _site_of(placement, inventory)
    if not fits(placement, site.node):
        return False
    beside = [each for each in running if _site_of(each, inventory) is site]
    if any(each.provenance != placement.provenance for each in beside):
        return False
    needed = num_nodes([*beside, placement], site.node)
    elsewhere = sum(
        max(nodes_of(name, running, inventory=inventory), kept.get(name, 0))
        for name, other in inventory.sites.items()
        if other is not site
    )
    return needed <= site.max_nodes and needed + elsewhere <= inventory.max_nodes


def nodes_of(name: str, running: Iterable[Placement], *, inventory: Inventory) -> int:
    """Nodes of a site that hold what runs."""
    site = inventory.sites[name]
    return num_nodes([each for each in running if _site_of(each, inventory) is site], site.node)


def fits(placement: Placement, node: Node) -> bool:
    """Whether an idle node can hold the trial, or one host's part of it."""
    return _Free(cpus=node.cpus, devices=dict(node.counts)).holds(placement)


def num_nodes(placements: Iterable[Placement], node: Node) -> int:
    """Nodes like this one that hold the trials, each of whose parts fits one: the first with room take them.

    No node holds two hosts' parts of a trial.
    """
    nodes: list[_Free] = []
    for placement in placements:
        holding = [each for each in nodes if each.holds(placement)][: placement.num_hosts]
        new = [
            _Free(cpus=node.cpus, devices=dict(node.counts))
            for _ in range(placement.num_hosts - len(holding))
        ]
        nodes += new
        for free in (*holding, *new):
            free.take(placement)
    return len(nodes)


@dataclass(slots=True)
class _Free:
    """What is left of a node."""

    cpus: int
    devices: dict[str, int]

    def holds(self, placement: Placement) -> bool:
        enough_devices = placement.devices <= self.devices.get(placement.trial.device, 0)
        return placement.cpus <= self.cpus and enough_devices

    def take(self, placement: Placement) -> None:
        self.cpus -= placement.cpus
        if placement.devices:
            self.devices[placement.trial.device] -= placement.devices


def _site_of(placement: Placement, inventory: Inventory) -> Site:
    return inventory.sites[site_name(placement, inventory)]


def site_name(placement: Placement, inventory: Inventory) -> str:
    """Of the site where the trial runs."""
    return placement.pool or inventory.host.name
