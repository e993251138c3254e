"""Small real pools and clusters of them."""

from dataclasses import replace
from typing import Any

from plan_builders import T4, TPU, device, node

from orchestrator.core.inventory import Inventory, of_cluster
from orchestrator.core.pool import Cluster, Pool

CPU = device(instances={1: "n2-standard-8"}, cpus={1: 8})
T4S = replace(
    T4, instances={1: "n1-standard-8+1xT4", 4: "n1-standard-8+4xT4"}, cpus={1: 8, 4: 8}, ray_type="T4"
)
FAST = device("cpu_fast", instances={1: "c3-standard-8"}, cpus={1: 8})
SLOW = device("cpu_slow", instances={1: "e2-standard-2"}, cpus={1: 2})
SLICE = replace(TPU, instances={1: "v3-8"}, cpus={1: 96}, ray_type="TPU-V3")


def pool(name: str = "t4", **changes: Any) -> Pool:
    """Build a pool of up to two on-demand nodes with one T4 each, and the image of torch."""
    base = Pool(
        name=name,
        device=T4S,
        count=1,
        min_nodes=0,
        max_nodes=2,
        zone="us-central1-a",
        provisioning="on_demand",
        environment="torch",
        topology=None,
    )
    return replace(base, **changes)


def cluster(*pools: Pool, **changes: Any) -> Cluster:
    """Build a fake cluster of those pools with at most six nodes at once."""
    base = Cluster(
        name="fake",
        provider="fake",
        cluster_name="fake",
        project="",
        zone="",
        registry="",
        image_tag="",
        service_account="",
        boot_images={},
        head=CPU,
        max_nodes=6,
        idle_seconds=2,
        deadline_hours=24,
        records_gib=10,
        sweep="smoke",
        pools=pools,
    )
    return replace(base, **changes)


def inventory(*pools: Pool, is_fake: bool = False, **changes: Any) -> Inventory:
    """Build the inventory of those pools for a driver on a host with four cores."""
    return of_cluster(cluster(*pools, **changes), host=node(), is_fake=is_fake)
