"""(point, trainer, inventory) -> the sites that have what the point asks for, or why none has. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from orchestrator.core.device import Device, DeviceKind
from orchestrator.core.inventory import Inventory, NodeGroup
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import HOST_SEPARATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Nodes on which consecutive workers with one kind of device fit.

    Attributes:
        num_hosts: nodes of the site over which they are spread evenly.
    """

    node_group: NodeGroup
    device: Device
    num_workers: int
    num_hosts: int = 1


def find_slots(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> tuple[Slot, ...]:
    """Find the slots of all workers in their order: one for homogeneous devices; empty where they fit
    nowhere.

    Workers with one kind of device have the site with so many of it and the trainer's environment: on fewest
    nodes, or the first. A cluster has them on nodes of their own, a host all of them together. Where devices
    differ, workers that no pool can hold together are in several pools.
    """
    if point.other_devices:
        unequal = _of_unequal(point, trainer, inventory=inventory)
        return () if isinstance(unequal, str) else unequal
    slot = _find_slot(
        point.device, point.num_workers, trainer, inventory=inventory, num_hosts=point.num_hosts
    )
    return (slot,) if slot else ()


def count_hosts(point: Point, slots: Sequence[Slot]) -> int:
    """Return the number of hosts of the point's trials: of all slots, or the requested number where there are
    none.
    """
    if not slots:
        return point.num_hosts or 1
    return sum(slot.num_hosts for slot in slots) if slots[0].node_group.pool else 1


def find_host_cpu(point: Point, slots: Sequence[Slot], *, inventory: Inventory) -> str | None:
    """Return the CPU models of hosts that compute on CPUs, each once; None if only accelerators compute."""
    nodes = [
        inventory.host if slot.node_group.is_fake else slot.node_group.node
        for slot in slots
        if slot.device.kind == "cpu"
    ]
    if not slots and any(device.kind == "cpu" for device in (point.device, *point.other_devices)):
        nodes = [inventory.host]
    return HOST_SEPARATOR.join(dict.fromkeys(node.host_cpu for node in nodes)) or None


def why_no_slot(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> str:
    """Explain in one sentence why there is no slot."""
    if point.other_devices:
        unequal = _of_unequal(point, trainer, inventory=inventory)
        assert isinstance(unequal, str)
        return unequal
    return _explain_absence(
        point.device, point.num_workers, trainer, inventory=inventory, num_hosts=point.num_hosts
    )


def _of_unequal(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> tuple[Slot, ...] | str:
    """Find the slots of heterogeneous devices in the order of ranks, or explain why there are none."""
    here = inventory.node_groups.get(inventory.host.name)
    if here:
        if lack := _lacking(point, here):
            return f"{point.device_label} is not here: {here.node.name} {lack}"
        return tuple(
            Slot(node_group=here, device=device, num_workers=count) for device, count in _runs(point.devices)
        )
    if kind := _kept_together(point, trainer, inventory):
        return f"{point.device_label} needs several nodes, and {trainer.name} has its {kind.upper()}s on one"
    # a slice of several hosts is taken whole, by workers that are alike
    single = {
        name: node_group
        for name, node_group in inventory.node_groups.items()
        if not node_group.pool or node_group.pool.hosts == 1
    }
    slots = _over_pools(point, trainer, inventory=replace(inventory, node_groups=single))
    nodes = 0 if isinstance(slots, str) else sum(slot.num_hosts for slot in slots)
    if nodes > inventory.max_nodes:
        return f"{point.device_label} needs {nodes} nodes, and the cluster has {inventory.max_nodes} at most"
    return slots


def _over_pools(point: Point, trainer: TrainerInfo, *, inventory: Inventory) -> tuple[Slot, ...] | str:
    """Find slots in several pools, first of workers that fit into the fewest, or explain their absence."""
    left = inventory
    by_rank: dict[int, tuple[Slot, ...]] = {}

    def scarcity(run: tuple[int, tuple[Device, int]]) -> tuple[int, int]:
        device, count = run[1]
        return len(_holding(device, count, trainer, inventory=inventory)), -count

    for index, (device, count) in sorted(enumerate(_runs(point.devices)), key=scarcity):
        by_rank[index] = _divided(device, count, trainer, inventory=left)
        if not by_rank[index]:
            if not _divided(device, count, trainer, inventory=inventory):
                return _explain_absence(device, count, trainer, inventory=inventory)
            return f"{point.device_label} needs {_too_few(device, trainer, inventory)}"
        left = _without_nodes(left, by_rank[index])
    return tuple(
        replace(berth, node_group=inventory.node_groups[berth.node_group.node.name])
        for index in sorted(by_rank)
        for berth in by_rank[index]
    )


def _divided(device: Device, count: int, trainer: TrainerInfo, *, inventory: Inventory) -> tuple[Slot, ...]:
    """All in one pool, or where none has room for them the most that one has, and so on."""
    slots = []
    while count:
        sizes = (_find_slot(device, index, trainer, inventory=inventory) for index in range(count, 0, -1))
        berth = next((size for size in sizes if size), None)
        if berth is None:
            return ()
        slots.append(berth)
        count -= berth.num_workers
        inventory = _without_nodes(inventory, [berth])
    return tuple(slots)


def _without_nodes(inventory: Inventory, slots: Iterable[Slot]) -> Inventory:
    """Return the inventory without the nodes of these slots."""
    node_groups = dict(inventory.node_groups)
    for slot in slots:
        name = slot.node_group.node.name
        node_groups[name] = replace(node_groups[name], max_nodes=node_groups[name].max_nodes - slot.num_hosts)
    return replace(inventory, node_groups=node_groups)


def _too_few(device: Device, trainer: TrainerInfo, inventory: Inventory) -> str:
    """Describe which devices the pools lack together, although each pool has some."""
    pools = [node_group for _, node_group in _holding(device, 1, trainer, inventory=inventory)]
    limits = ", ".join(f"{pool.node.name} {pool.max_nodes}" for pool in pools)
    return f"more nodes with {device.name} than its pools have: {limits} at most"


def _kept_together(point: Point, trainer: TrainerInfo, inventory: Inventory) -> DeviceKind | None:
    """The kind of device that the trainer has on one node alone; of fake nodes processors do the work."""
    is_fake = any(node_group.is_fake for node_group in inventory.node_groups.values())
    kinds: list[DeviceKind] = ["cpu"] if is_fake else [device.kind for device in point.devices]
    return next((kind for kind in kinds if kind not in trainer.spans_hosts), None)


def _runs(devices: Iterable[Device]) -> list[tuple[Device, int]]:
    """Consecutive devices that are alike, and how many."""
    return [(device, len([*alike])) for device, alike in groupby(devices)]


def _lacking(point: Point, here: NodeGroup) -> str | None:
    """Explain what one host lacks for the whole point; it has one kind of CPU of any name."""
    counts = Counter(device.name for device in point.devices if device.kind != "cpu")
    if any(here.node.counts.get(name, 0) < count for name, count in counts.items()):
        return f"has {here.node.holdings}"
    cpus = dict.fromkeys(device.name for device in point.devices if device.kind == "cpu")
    return f"has one kind of processor, not {' and '.join(cpus)}" if len(cpus) > 1 else None


def _find_slot(
    device: Device, count: int, trainer: TrainerInfo, *, inventory: Inventory, num_hosts: int | None = None
) -> Slot | None:
    holding = _holding(device, count, trainer, inventory=inventory, num_hosts=num_hosts)
    if not holding:
        return None
    hosts, node_group = min(holding, key=itemgetter(0))
    return Slot(node_group=node_group, device=device, num_workers=count, num_hosts=hosts)


def _holding(
    device: Device, count: int, trainer: TrainerInfo, *, inventory: Inventory, num_hosts: int | None = None
) -> list[tuple[int, NodeGroup]]:
    """Sites that hold them, each with how many of its nodes that takes."""
    counts = (
        (_hosts_on(node_group, device, count, trainer, num_hosts=num_hosts), node_group)
        for node_group in inventory.node_groups.values()
    )
    return [(hosts, node_group) for hosts, node_group in counts if hosts]


def _hosts_on(
    node_group: NodeGroup, device: Device, count: int, trainer: TrainerInfo, *, num_hosts: int | None
) -> int | None:
    """Return the number of nodes of a group on which the workers run: as requested, or as few as hold them.

    None: they cannot run there. Hosts of a slice are taken all together. Workers on CPUs share the cores of a
    node, however many they are.
    """
    if node_group.pool is None:
        has_it = device.kind == "cpu" or node_group.node.counts.get(device.name, 0) >= count
        return 1 if num_hosts in (None, 1) and has_it else None
    if node_group.pool.device.name != device.name:
        return None
    if node_group.pool.environment not in (trainer.environment_on(device.kind), "any"):
        return None
    splits = (num_hosts,) if num_hosts else (index for index in range(1, count + 1) if count % index == 0)
    return next(
        (split for split in splits if _takes(node_group, device, trainer, split, count // split)), None
    )


def _explain_absence(
    device: Device, count: int, trainer: TrainerInfo, *, inventory: Inventory, num_hosts: int | None = None
) -> str:
    wanted_devices = f"{count} x {device.name}"
    wanted_devices += f" with num_hosts={num_hosts}" if num_hosts else ""
    here = inventory.node_groups.get(inventory.host.name)
    if here:
        return f"{wanted_devices} is not here: {here.node.name} has {here.node.holdings}"
    pools = [node_group.pool for node_group in inventory.node_groups.values() if node_group.pool]
    of_the_device = [pool for pool in pools if pool.device.name == device.name]
    fitting = [
        f"{pool.name} ({pool.count} a node, at most {pool.max_nodes * pool.hosts}, {pool.environment})"
        for pool in of_the_device
    ]
    pool_names = ", ".join(fitting or [pool.name for pool in pools])
    one_host = "" if device.kind in trainer.spans_hosts else " on one host"
    wanted = (
        f"{wanted_devices}{one_host} for {trainer.name} (environment {trainer.environment_on(device.kind)})"
    )
    reason = f": {trainer.one_host[device.kind]}" if device.kind in trainer.one_host else ""
    return f"no pool has {wanted}{reason}; pools: {pool_names}"


def _takes(
    node_group: NodeGroup, device: Device, trainer: TrainerInfo, num_hosts: int, workers_per_node: int
) -> bool:
    """Return whether that many nodes can hold that many workers each."""
    assert node_group.pool is not None
    if num_hosts > node_group.max_nodes or (num_hosts > 1 and device.kind not in trainer.spans_hosts):
        return False
    if node_group.pool.hosts > 1:
        return num_hosts == node_group.pool.hosts and workers_per_node == node_group.pool.count
    return device.kind == "cpu" or workers_per_node <= node_group.pool.count
