"""One group of pods of a RayCluster against what can be rented, and how its containers are confined. Pure."""

from collections.abc import Mapping
from typing import Any

from orchestrator.core.pool import Catalogue, region_of
from orchestrator.core.price import Provisioning
from orchestrator.core.topology import chips_of, generation_of, topologies_of
from orchestrator.deploy.check_access import unpinned
from orchestrator.deploy.finding import Finding, Findings, expected, listed, mapping, require_name, sequence
from orchestrator.deploy.group_offers import limits_in, offer_of_group, pod_of, selector_in
from orchestrator.deploy.manifests import SPOT_KEY, TOPOLOGY_KEY, ZONE_KEY, asked_of
from orchestrator.deploy.nodes import POOL_LABEL, labels_of
from orchestrator.deploy.offers import Offer, Refused, not_sold

Group = Mapping[str, Any]

# KubeRay 1.6.2, the published definition of RayCluster
_GROUP_KEYS = {
    "groupName",
    "idleTimeoutSeconds",
    "labels",
    "maxReplicas",
    "minReplicas",
    "numOfHosts",
    "rayStartParams",
    "replicas",
    "resources",
    "scaleStrategy",
    "suspend",
    "template",
}


def check_group(key: str, group: Group, catalogue: Catalogue) -> Findings:
    """Findings of one group."""
    for name in sorted(map(str, group.keys() - _GROUP_KEYS)):
        yield Finding(key=f"{key}.{name}", message=f"unknown; known: {listed(_GROUP_KEYS)}")
    yield from require_name(f"{key}.groupName", group.get("groupName"))
    yield from _sizes(key, group)
    yield from check_containers(key, group)
    offer = offer_of_group(group, catalogue)
    if isinstance(offer, Refused):
        yield Finding(key=f"{key}.template.spec.{offer.key}", message=offer.message)
        return
    limits = f"{key}.template.spec.containers.0.resources.limits"
    yield from expected(limits, limits_in(group), asked_of(offer.device, offer.count))
    yield from _slices(key, group, offer)
    yield from _sold(key, group, offer, catalogue)


def check_containers(key: str, group: Group) -> Findings:
    """What every container must be: pinned, confined, alone in its network."""
    pod = pod_of(group)
    if pod.get("hostNetwork"):
        yield Finding(key=f"{key}.template.spec.hostNetwork", message="opens every port of a pod on its node")
    containers = sequence(pod.get("containers"))
    if not containers:
        yield Finding(key=f"{key}.template.spec.containers", message="has no container")
    for number, each in enumerate(map(mapping, containers)):
        here = f"{key}.template.spec.containers.{number}"
        yield from unpinned(f"{here}.image", each.get("image"))
        confined = mapping(each.get("securityContext"))
        if confined.get("runAsNonRoot") is not True or confined.get("privileged"):
            yield Finding(
                key=f"{here}.securityContext", message="must have runAsNonRoot: true and no privileged: true"
            )
        resources = mapping(each.get("resources"))
        if resources.get("limits") != resources.get("requests") or not resources.get("limits"):
            yield Finding(key=f"{here}.resources", message="must have limits, and requests equal to them")


def _sizes(key: str, group: Group) -> Findings:
    least, most = group.get("minReplicas"), group.get("maxReplicas")
    if not isinstance(least, int) or least < 0:
        yield Finding(key=f"{key}.minReplicas", message=f"must be a whole number from 0 on, not {least!r}")
    elif not isinstance(most, int) or most < least:
        yield Finding(key=f"{key}.maxReplicas", message=f"{most!r} is less than minReplicas={least}")
    elif group.get("replicas", least) not in range(least, most + 1):
        yield Finding(key=f"{key}.replicas", message=f"{group['replicas']!r} is not from {least} to {most}")


def _slices(key: str, group: Group, offer: Offer) -> Findings:
    """Whether each slice has the hosts that its shape takes."""
    hosts = 1
    if offer.device.kind == "tpu":
        topology = str(selector_in(group).get(TOPOLOGY_KEY))
        known = topologies_of(generation_of(str(offer.device.slice_type)))
        if topology not in known:
            yield Finding(
                key=f"{key}.template.spec.nodeSelector.{TOPOLOGY_KEY}",
                message=f"topology {topology!r} does not exist; possible: {', '.join(known[:10])}",
            )
            return
        hosts = chips_of(topology) // offer.device.chips
    if group.get("numOfHosts", 1) != hosts:
        yield Finding(
            key=f"{key}.numOfHosts", message=f"is {group.get('numOfHosts', 1)!r} and must be {hosts}"
        )


def _sold(key: str, group: Group, offer: Offer, catalogue: Catalogue) -> Findings:
    zone, provisioning = str(selector_in(group).get(ZONE_KEY)), _provisioning_of(group)
    if why := not_sold(
        offer.instance, region=region_of(zone), provisioning=provisioning, catalogue=catalogue
    ):
        yield Finding(key=f"{key}.template.spec.nodeSelector.{ZONE_KEY}", message=why)
    tolerated = [mapping(each).get("key") for each in sequence(pod_of(group).get("tolerations"))]
    if provisioning == "spot" and SPOT_KEY not in tolerated:
        yield Finding(
            key=f"{key}.template.spec.tolerations", message=f"lacks {SPOT_KEY}, so that no pod would start"
        )
    labels = labels_of(offer.device, provisioning=provisioning, zone=zone)
    named = {**labels, POOL_LABEL: str(group.get("groupName"))}
    yield from expected(f"{key}.labels", mapping(group.get("labels")), named)


def _provisioning_of(group: Group) -> Provisioning:
    return "spot" if selector_in(group).get(SPOT_KEY) == "true" else "on_demand"
