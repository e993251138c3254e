"""(berths of a trial over unequal devices) -> what each of its ranks has of its host. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.core.placement import RankGroup
from orchestrator.core.trial_spec import ProcessModel
from orchestrator.plan.slots import Slot


def find_parts(slots: Sequence[Slot], process_model: ProcessModel) -> tuple[RankGroup, ...]:
    """Return rank groups in the order of ranks: each on its own nodes, or all on one host with shared
    cores.
    """
    if slots[0].node_group.pool is None:
        return tuple(_parts_here(slots, process_model))
    parts = (part for berth in slots for part in _parts_in_pool(berth, process_model))
    return tuple(replace(part, host=host) for host, part in enumerate(parts))


def _parts_in_pool(berth: Slot, process_model: ProcessModel) -> Iterator[RankGroup]:
    """Yield the rank groups of a pool's slot; on a fake node, those of a real one, run by a CPU."""
    node_group, device = berth.node_group, berth.device
    count = berth.num_workers // berth.num_hosts
    is_cpu = device.kind == "cpu"
    cpus = (
        node_group.node.cpus
        if is_cpu
        else max(1, node_group.node.cpus * count // node_group.node.counts[device.name])
    )
    processes = _num_processes(berth, process_model) // berth.num_hosts
    for _ in range(berth.num_hosts):
        yield RankGroup(
            device=device.name,
            kind="cpu" if node_group.is_fake else device.kind,
            num_processes=processes,
            threads=1 if node_group.is_fake else max(1, cpus // processes),
            cpus=cpus,
            devices=0 if is_cpu else count,
            chips=0 if is_cpu else count * device.chips,
            pool=node_group.pool_name,
        )


def _parts_here(slots: Sequence[Slot], process_model: ProcessModel) -> Iterator[RankGroup]:
    processes = [_num_processes(slot, process_model) for slot in slots]
    for berth, count, cpus in zip(slots, processes, _find_cores(slots, processes), strict=True):
        device = berth.device
        is_cpu = device.kind == "cpu"
        yield RankGroup(
            device=device.name,
            kind=device.kind,
            num_processes=count,
            threads=max(1, cpus // count),
            cpus=cpus,
            devices=0 if is_cpu else berth.num_workers,
            chips=0 if is_cpu else berth.num_workers * device.chips,
        )


def _find_cores(slots: Sequence[Slot], processes: Sequence[int]) -> list[int]:
    """Return the cores of each slot: one per process that drives an accelerator, the rest for those that
    compute.

    Where none computes on the processor, together as many as the accelerators are of those of the host.
    """
    node = slots[0].node_group.node
    computing = [count for slot, count in zip(slots, processes, strict=True) if slot.device.kind == "cpu"]
    if computing:
        driving = min(sum(processes) - sum(computing), max(0, node.cpus - len(computing)))
    else:
        held = sum(slot.num_workers for slot in slots)
        driving = max(1, node.cpus * held // sum(node.counts.values()))
    left = {True: node.cpus - driving, False: driving}  # by whether they compute
    waiting = {True: sum(computing), False: sum(processes) - sum(computing)}
    cores = []
    for berth, count in zip(slots, processes, strict=True):
        computes = berth.device.kind == "cpu"
        cores.append(left[computes] * count // waiting[computes])
        left[computes] -= cores[-1]
        waiting[computes] -= count
    return cores


def _num_processes(berth: Slot, process_model: ProcessModel) -> int:
    return berth.num_workers * berth.device.replicas if process_model == "per_replica" else berth.num_hosts
