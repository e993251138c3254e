"""The hosts of one attempt at a trial, as a placement group of Ray's has given them to it: all or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ray

from orchestrator.core.placement import Attempt, Placement
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.on_ray.file_transfer import DriverFiles
from orchestrator.execute.on_ray.pool_nodes import POOL_LABEL
from orchestrator.execute.on_ray.remote_host import Bundle, RayHost, local_host
from orchestrator.execute.trial.host import ForkServerOf, Host

_ID_DIGITS = 6  # the end of a node's id, which tells it from the others of its pool
_SLICE_LABEL = "ray.io/tpu-slice-name"
_PLACE_LABEL = "ray.io/tpu-worker-id"
_NODE_LABEL = "ray.io/node-id"


@dataclass(frozen=True, slots=True)
class _BundleNode:
    """A part of the group, and the node that has it."""

    index: int
    node_id: str
    labels: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.labels[POOL_LABEL]}-{self.node_id[-_ID_DIGITS:]}"


def placement_strategy(placement: Placement, *, is_slice: bool) -> Mapping[str, Any]:
    """Return Ray's placement strategy: each bundle on its own node; bundles of a slice on the nodes of one
    slice.
    """
    if placement.num_hosts == 1:
        return {}
    if is_slice:
        topology = {_NODE_LABEL: "STRICT_SPREAD", _SLICE_LABEL: "STRICT_PACK"}
        return {"strategy": None, "topology_strategy": topology}
    return {"strategy": "STRICT_SPREAD"}


def hosts_of_group(
    attempt: Attempt,
    context: SweepContext,
    *,
    here: SweepContext,
    driver_files: DriverFiles | None,
    fork_server_of: ForkServerOf,
    resources: Sequence[Mapping[str, float]],
) -> tuple[Attempt, list[Host]]:
    """The attempt with the nodes that really have it, and its hosts, those of the first ranks first.

    Called in the actor that holds the first bundle. Hosts of a TPU slice come in the order of their places
    in it, which their ranks have to be in; others in that of their bundles, which ranks that are not alike
    follow.

    Args:
        here: the sweep context as this node carries it out.
        driver_files: supplies the others.
        resources: resources of every bundle, in order.
    """
    if attempt.placement.num_hosts == 1:
        return _on_this_node(attempt), [local_host(attempt, here, fork_server_of=fork_server_of, place=0)]
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune gives every trial one"
    hosts: list[Host] = []
    table = ray.util.placement_group_table(group)
    nodes = ray.nodes()  # type: ignore[no-untyped-call] # Ray has no type there
    labels = {node["NodeID"]: node["Labels"] for node in nodes}
    node_ids = table["bundles_to_node_id"].items()
    bundles = sorted(
        [_BundleNode(index, node_id, labels[node_id]) for index, node_id in node_ids],
        key=lambda bundle: (int(bundle.labels.get(_PLACE_LABEL, 0)), bundle.index),
    )
    if attempt.placement.unequal:
        bundles.sort(key=lambda bundle: bundle.index)
    for place, bundle in enumerate(bundles):
        if bundle.index == 0:
            hosts.append(local_host(attempt, here, fork_server_of=fork_server_of, place=place))
        else:
            held = resources[bundle.index]
            where = Bundle(group=group, index=bundle.index, node_id=bundle.node_id, resources=held)
            hosts.append(RayHost(attempt, context, driver_files=driver_files, bundle=where, place=place))
    return _placed(attempt, bundles), hosts


def _on_this_node(attempt: Attempt) -> Attempt:
    """Place an attempt by the labels of this node; the driver's own host has no pool label."""
    context = ray.get_runtime_context()
    labels = context.get_node_labels()
    if POOL_LABEL not in labels:
        return attempt
    return _placed(attempt, [_BundleNode(0, context.get_node_id(), labels)])


def _placed(attempt: Attempt, bundles: Sequence[_BundleNode]) -> Attempt:
    node, *others = (bundle.name for bundle in bundles)
    return replace(attempt, placement=replace(attempt.placement, node=node, other_nodes=tuple(others)))


def build_bundles(placement: Placement, context: SweepContext) -> list[dict[str, float]]:
    """Return the resources that each host gives the trial, under Ray's names for GPUs and chips of TPU
    slices.
    """
    bundles: list[dict[str, float]] = []
    for host in range(placement.num_hosts):
        held: dict[str, float] = {"CPU": 0.0}
        for part in placement.on_host(host):
            held["CPU"] += part.cpus
            if part.chips:  # a fake node has the accelerators in Ray's books alone
                kind = context.devices[part.device].kind if part.kind == "cpu" else part.kind
                held[kind.upper()] = held.get(kind.upper(), 0.0) + part.chips
        bundles.append(held)
    return bundles


def describe_request(placement: Placement, context: SweepContext) -> str:
    """Describe the resources that a trial waits for: `8 CPU not free in pool cpu`."""
    held = [
        ", ".join(f"{amount:g} {name}" for name, amount in bundle.items())
        for bundle in build_bundles(placement, context)
    ]
    several = f"{placement.num_hosts} nodes at once with " if placement.num_hosts > 1 else ""
    if several and placement.unequal:
        parts = zip(held, placement.unequal, strict=True)
        return f"{several}{' and '.join(f'{amount} in pool {part.pool}' for amount, part in parts)} not free"
    where = f" in pool {placement.pool}" if placement.pool else ""
    return f"{several}{held[0]}{' each' if several else ''} not free{where}"
