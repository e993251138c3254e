"""(point, trainer, inventory) -> the site that has what the point asks for, or why none has. Pure."""

from orchestrator.core.inventory import Inventory, Site
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerInfo


def site_of(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> Site | None:
    """The first site with so many of the device on one node, and the trainer's environment.

    A node of a slice with several hosts is no device of its own.
    """
    return next((each for each in inventory.sites.values() if _holds(each, point, trainer)), None)


def absence(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> str:
    """Why there is none, in one sentence."""
    asked = f"{point.num_workers} x {point.device.name}"
    here = inventory.sites.get(inventory.host.name)
    if here:
        return f"{asked} is not here: {here.node.name} has {here.node.holdings}"
    pools = [each.pool for each in inventory.sites.values() if each.pool]
    of_the_device = [each for each in pools if each.device.name == point.device.name]
    fitting = [f"{each.name} ({each.count} a node, {each.environment})" for each in of_the_device]
    known = ", ".join(fitting or [each.name for each in pools])
    wanted = f"{asked} on one node for {trainer.name} (environment {trainer.environment})"
    return f"no pool has {wanted}; pools: {known}"


def _holds(site: Site, point: Point, trainer: TrainerInfo) -> bool:
    if site.pool is None:
        return point.device.kind == "cpu" or site.node.counts.get(point.device.name, 0) >= point.num_workers
    return (
        site.pool.device.name == point.device.name
        and site.pool.hosts == 1
        and site.pool.environment in (trainer.environment, "any")
        and point.num_workers <= site.pool.count
    )
