"""State of a declared cluster, and of the tools on this machine that make it. Read-only."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.core.pool import Catalogue, Cluster, Pool, Provider
from orchestrator.core.price import Price
from orchestrator.plan.machine_state import Check, ServiceState
from orchestrator.plan.pricing import find_price
from orchestrator.terminal.diagnosis import format_line
from orchestrator.train.registry import trainers

_TOOLS: Mapping[Provider, tuple[tuple[str, str], ...]] = {
    "gcp": (
        ("gcloud", "install Google's command line: cloud.google.com/sdk"),
        ("ray", "pip install 'ray[default,tune]' google-api-python-client"),
    ),
    "gke": (
        ("gcloud", "install Google's command line: cloud.google.com/sdk"),
        ("kubectl", "gcloud components install kubectl"),
    ),
}
_TOKEN = Path(".ray", "auth_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """One declared pool.

    Attributes:
        hosts: hosts of a slice; 1 for a single node.
        trainers: trainers that its image has and that can use its device.
        usd_per_hour: price of a node, or of a slice; None without a price.
    """

    name: str
    device: str
    count: int
    hosts: int
    instance: str
    zone: str
    provisioning: str
    environment: str
    max_nodes: int
    trainers: tuple[str, ...]
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDiagnosis:
    """Declared cluster, the tools of this machine that make it, and what is missing."""

    name: str
    pools: tuple[PoolState, ...]
    tools: tuple[ServiceState, ...]
    checks: tuple[Check, ...] = ()

    @property
    def is_ready(self) -> bool:
        """True if nothing that the cluster needs is missing."""
        return all(check.status != "missing" for check in self.checks)


def diagnose_cluster(
    cluster: Cluster, catalogue: Catalogue, *, faults: Sequence[str], today: str
) -> ClusterDiagnosis:
    """Describe the pools of a cluster, and check that this machine can make it.

    Args:
        faults: faults of the rendered file, one line each.
        today: `2026-11-21`, for prices.
    """
    pools = tuple(_pool(pool, catalogue, today=today) for pool in cluster.available_pools)
    tools = tuple(_tool(name, cure) for name, cure in _TOOLS.get(cluster.provider, ()))
    seen = ClusterDiagnosis(name=cluster.name, pools=pools, tools=tools)
    checks = (
        *(Check(status="missing", message=fault) for fault in faults),
        *(Check(status="missing", message=tool.failure) for tool in tools if tool.failure),
        *_token(cluster),
        *(check for pool in pools for check in _pool_checks(pool)),
        *_elsewhere(cluster),
    )
    return replace(seen, checks=checks)


def _pool(pool: Pool, catalogue: Catalogue, *, today: str) -> PoolState:
    price = find_price(
        pool.device, pool.count, prices=catalogue.prices, today=today, pool=pool, num_hosts=pool.hosts
    )
    kind = pool.device.kind
    return PoolState(
        name=pool.name,
        device=pool.device.name,
        count=pool.count,
        hosts=pool.hosts,
        instance=pool.instance,
        zone=pool.zone,
        provisioning=pool.provisioning,
        environment=pool.environment,
        max_nodes=pool.max_nodes,
        trainers=tuple(
            info.name
            for info in trainers().values()
            if info.trains
            and kind in info.precisions
            and pool.environment in (info.environment_on(kind), "any")
            and (pool.hosts == 1 or kind in info.spans_hosts)
        ),
        usd_per_hour=price.usd_per_hour if isinstance(price, Price) else None,
    )


def _tool(name: str, cure: str) -> ServiceState:
    path = shutil.which(name)
    return ServiceState(name=name, version=path, failure=None if path else f"{name} is not installed; {cure}")


def _token(cluster: Cluster) -> Iterator[Check]:
    """Check that the token exists which the launcher copies to every node."""
    if cluster.provider == "gcp" and not (Path.home() / _TOKEN).exists():
        yield Check(
            status="missing",
            message=f"~/{_TOKEN} does not exist; make it: RAY_AUTH_MODE=token ray get-auth-token --generate",
        )


def _pool_checks(pool: PoolState) -> Iterator[Check]:
    if not pool.trainers:
        yield Check(
            status="missing",
            message=f"pool {pool.name}: no trainer of environment={pool.environment} can use {pool.device}",
        )
    if pool.usd_per_hour is None:
        yield Check(status="warning", message=f"pool {pool.name}: {pool.instance} has no price")


def _elsewhere(cluster: Cluster) -> Iterator[Check]:
    left_out = [pool for pool in cluster.pools if pool.max_nodes and pool not in cluster.available_pools]
    if left_out:
        listed = ", ".join(f"{pool.name} ({pool.zone})" for pool in left_out)
        yield Check(
            status="warning",
            message=f"pools of other zones than {cluster.zone} are left out: {listed}; set pools.zone=ZONE",
        )


def describe_cluster(diagnosis: ClusterDiagnosis) -> Iterator[str]:
    """Describe the pools, the tools and the checks of a cluster."""
    width = max((len(f"pool {pool.name}") for pool in diagnosis.pools), default=12)
    for pool in diagnosis.pools:
        yield format_line(f"pool {pool.name}", _describe_pool(pool), width=width)
    for tool in diagnosis.tools:
        yield format_line(tool.name, tool.version or "not installed", width=width)
    yield from (f"{check.status}: {check.message}" for check in diagnosis.checks)
    devices = dict.fromkeys(pool.device for pool in diagnosis.pools if pool.trainers)
    yield f"Cluster {diagnosis.name} can train on: {', '.join(devices) or 'nothing'}."


def _describe_pool(pool: PoolState) -> str:
    nodes = f"{pool.hosts} hosts of {pool.count} x" if pool.hosts > 1 else f"{pool.count} x"
    price = "no price" if pool.usd_per_hour is None else f"${pool.usd_per_hour:,.4g}/h"
    market = pool.provisioning.replace("_", " ")
    return (
        f"{nodes} {pool.device}, {pool.instance} {market} in {pool.zone}, {price}, at most {pool.max_nodes}, "
        f"for {', '.join(pool.trainers) or 'no trainer'}"
    )
