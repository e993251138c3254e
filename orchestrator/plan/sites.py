"""(point, trainer, inventory) -> the site that has what the point asks for, or why none has. Pure."""

from collections.abc import Iterable
from operator import itemgetter

from orchestrator.core.device import Node
from orchestrator.core.inventory import Inventory, Site
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerInfo


def site_of(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> Site | None:
    """The site with so many of the device and the trainer's environment: on fewest nodes, or the first."""
    counts = ((hosts_on(each, point, trainer), each) for each in inventory.sites.values())
    holding = [(hosts, each) for hosts, each in counts if hosts]
    return min(holding, key=itemgetter(0))[1] if holding else None


def hosts_on(site: Site, point: Point, trainer: TrainerInfo) -> int | None:
    """On how many nodes of the site the point would run: as many as it asks for, or the fewest that hold it.

    None: it cannot run there. Hosts of a slice are taken all together. Workers on CPUs share the cores of a
    node, however many they are.
    """
    if site.pool is None:
        return 1 if point.num_hosts in (None, 1) and _has_it(site, point) else None
    fits = site.pool.device.name == point.device.name and site.pool.environment in (
        trainer.environment,
        "any",
    )
    return next((each for each in _splits(point) if fits and _takes(site, point, trainer, each)), None)


def nodes_of(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> tuple[Node, int]:
    """A node that the point's trials are of, and on how many such: of its site, where that is a real one."""
    site = site_of(point, trainer, inventory=inventory)
    node = site.node if site and not site.is_fake else inventory.host
    return node, (hosts_on(site, point, trainer) if site else point.num_hosts) or 1


def absence(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> str:
    """Why there is none, in one sentence."""
    asked = f"{point.num_workers} x {point.device.name}"
    asked += f" with num_hosts={point.num_hosts}" if point.num_hosts else ""
    here = inventory.sites.get(inventory.host.name)
    if here:
        return f"{asked} is not here: {here.node.name} has {here.node.holdings}"
    pools = [each.pool for each in inventory.sites.values() if each.pool]
    of_the_device = [each for each in pools if each.device.name == point.device.name]
    fitting = [
        f"{each.name} ({each.count} a node, at most {each.max_nodes * each.hosts}, {each.environment})"
        for each in of_the_device
    ]
    known = ", ".join(fitting or [each.name for each in pools])
    wanted = f"{asked} for {trainer.name} (environment {trainer.environment})"
    alone = "" if point.device.kind in trainer.spans_hosts else ", which needs them on one host"
    return f"no pool has {wanted}{alone}; pools: {known}"


def _has_it(site: Site, point: Point) -> bool:
    return point.device.kind == "cpu" or site.node.counts.get(point.device.name, 0) >= point.num_workers


def _splits(point: Point) -> Iterable[int]:
    """Numbers of hosts over which the workers divide, the smallest first."""
    if point.num_hosts:
        return (point.num_hosts,)
    return (each for each in range(1, point.num_workers + 1) if point.num_workers % each == 0)


def _takes(site: Site, point: Point, trainer: TrainerInfo, num_hosts: int) -> bool:
    assert site.pool is not None
    each = point.num_workers // num_hosts
    if num_hosts > site.max_nodes or (num_hosts > 1 and point.device.kind not in trainer.spans_hosts):
        return False
    if site.pool.hosts > 1:
        return num_hosts == site.pool.hosts and each == site.pool.count
    return point.device.kind == "cpu" or each <= site.pool.count
