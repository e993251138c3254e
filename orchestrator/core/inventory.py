"""Hardware on which a command's trials can run (this host, or the pools of a cluster), and its usage."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.device import Accelerators, Node
from orchestrator.core.pool import Cluster, Pool, usable_cpus


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU of the trial.

    Attributes:
        busy_fraction: fraction of the driver's last sampling period in which a kernel ran; 0 to 1.
        memory_bytes: memory in use by all processes.
    """

    busy_fraction: float
    memory_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUsage:
    """Usage of the whole host by all processes, and of the trial's GPUs.

    Attributes:
        at: seconds since the epoch, wall clock of that host.
        cpu_busy_seconds: busy time of all cores together since the host booted.
        cpu_seconds: total time of all cores together since then.
        memory_bytes: memory that is not available to a new program.
        gpus: usage in the order of the trial's devices; empty if the driver cannot report it.
    """

    at: float
    cpu_busy_seconds: float
    cpu_seconds: float
    memory_bytes: int
    memory_total_bytes: int
    gpus: tuple[GpuUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """Nodes of one kind that trials can have.

    Attributes:
        node: one of them; a pool's has the pool's name, and no identity of its own.
        max_nodes: maximum number at once; for slices of several hosts, all their hosts.
        pool: pool of the nodes in a cluster; None: this host.
        is_fake: they are processes of this host, which rehearse what the pool's nodes would do.
    """

    node: Node
    max_nodes: int = 1
    pool: Pool | None = None
    is_fake: bool = False

    @property
    def pool_name(self) -> str | None:
        """Pool name as a placement stores it; None on this host."""
        return self.pool.name if self.pool else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All that can be had.

    Attributes:
        host: the driver's.
        node_groups: groups by name; a trial is placed in the first one that can hold it.
        max_nodes: maximum number of nodes of all groups at once.
    """

    host: Node
    node_groups: Mapping[str, NodeGroup]
    max_nodes: int


def of_host(node: Node) -> Inventory:
    """This machine alone."""
    return Inventory(host=node, node_groups={node.name: NodeGroup(node=node)}, max_nodes=1)


def of_cluster(cluster: Cluster, *, host: Node, is_fake: bool) -> Inventory:
    """The pools of a cluster; where they are fake, on the processors of this host."""
    node_groups = {
        pool.name: NodeGroup(
            node=_build_node(pool, cluster=cluster, host=host, is_fake=is_fake),
            max_nodes=pool.max_nodes * pool.hosts,
            pool=pool,
            is_fake=is_fake,
        )
        for pool in cluster.available_pools
        if pool.max_nodes
    }
    return Inventory(host=host, node_groups=node_groups, max_nodes=cluster.max_nodes)


def _build_node(pool: Pool, *, cluster: Cluster, host: Node, is_fake: bool) -> Node:
    """A fake node has a core for each device, for all of them share those of one host."""
    device = pool.device
    ids = tuple(str(number) for number in range(pool.count))
    held = (
        {}
        if device.kind == "cpu"
        else {device.name: Accelerators(kind=device.kind, chips=device.chips, ids=ids)}
    )
    if is_fake:
        return Node(name=pool.name, cpus=pool.count, cpu_model=host.cpu_model, devices=held)
    cpus = usable_cpus(cluster.provider, device, pool.count)
    return Node(name=pool.name, cpus=cpus, cpu_model=pool.instance, devices=held)
