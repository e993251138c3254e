"""Manifests for KubeRay -> what is wrong with them: their shape, who can reach them, what they cost. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.core.pool import Catalogue, region_of
from orchestrator.core.price import Provisioning
from orchestrator.core.tpu_topology import chips_of, generation_of, topologies_of
from orchestrator.deploy.checks.access import secrets, unpinned
from orchestrator.deploy.checks.finding import (
    Finding,
    FindingLines,
    JsonObject,
    expected,
    listed,
    mapping,
    require_mappings,
    require_name,
    sequence,
)
from orchestrator.deploy.checks.machine_types import (
    Offer,
    Refused,
    limits_in,
    not_sold,
    offer_of_group,
    pod_of,
    selector_in,
)
from orchestrator.deploy.kuberay import (
    API,
    RAY_VERSION,
    SPOT_KEY,
    TOPOLOGY_KEY,
    TPU_RESOURCE,
    ZONE_KEY,
    requested_resources,
)
from orchestrator.deploy.nodes import POOL_LABEL, labels_of

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


def check_group(key: str, group: JsonObject, catalogue: Catalogue) -> FindingLines:
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
    yield from expected(limits, limits_in(group), requested_resources(offer.device, offer.count))
    yield from _slices(key, group, offer)
    yield from _sold(key, group, offer, catalogue)


def check_containers(key: str, group: JsonObject) -> FindingLines:
    """Check that every container is pinned, confined, and alone in its network."""
    pod = pod_of(group)
    if pod.get("hostNetwork"):
        yield Finding(key=f"{key}.template.spec.hostNetwork", message="opens every port of a pod on its node")
    containers = sequence(pod.get("containers"))
    if not containers:
        yield Finding(key=f"{key}.template.spec.containers", message="has no container")
    for number, container in enumerate(map(mapping, containers)):
        here = f"{key}.template.spec.containers.{number}"
        yield from unpinned(f"{here}.image", container.get("image"))
        confined = mapping(container.get("securityContext"))
        resources = mapping(container.get("resources"))
        has_tpu = TPU_RESOURCE in mapping(resources.get("limits"))
        if not has_tpu and (confined.get("runAsNonRoot") is not True or confined.get("privileged")):
            yield Finding(
                key=f"{here}.securityContext", message="must have runAsNonRoot: true and no privileged: true"
            )
        if resources.get("limits") != resources.get("requests") or not resources.get("limits"):
            yield Finding(key=f"{here}.resources", message="must have limits, and requests equal to them")


def _sizes(key: str, group: JsonObject) -> FindingLines:
    least, most = group.get("minReplicas"), group.get("maxReplicas")
    if not isinstance(least, int) or least < 0:
        yield Finding(key=f"{key}.minReplicas", message=f"must be a whole number from 0 on, not {least!r}")
    elif not isinstance(most, int) or most < least:
        yield Finding(key=f"{key}.maxReplicas", message=f"{most!r} is less than minReplicas={least}")
    elif group.get("replicas", least) not in range(least, most + 1):
        yield Finding(key=f"{key}.replicas", message=f"{group['replicas']!r} is not from {least} to {most}")


def _slices(key: str, group: JsonObject, offer: Offer) -> FindingLines:
    """Check that each slice has as many hosts as its shape needs."""
    hosts = 1
    if offer.device.kind == "tpu":
        topology = str(selector_in(group).get(TOPOLOGY_KEY))
        topologies = topologies_of(generation_of(str(offer.device.slice_type)))
        if topology not in topologies:
            yield Finding(
                key=f"{key}.template.spec.nodeSelector.{TOPOLOGY_KEY}",
                message=f"topology {topology!r} does not exist; possible: {', '.join(topologies[:10])}",
            )
            return
        hosts = chips_of(topology) // offer.device.chips
    if group.get("numOfHosts", 1) != hosts:
        yield Finding(
            key=f"{key}.numOfHosts", message=f"is {group.get('numOfHosts', 1)!r} and must be {hosts}"
        )


def _sold(key: str, group: JsonObject, offer: Offer, catalogue: Catalogue) -> FindingLines:
    zone, provisioning = str(selector_in(group).get(ZONE_KEY)), _provisioning_of(group)
    if why := not_sold(
        offer.instance, region=region_of(zone), provisioning=provisioning, catalogue=catalogue
    ):
        yield Finding(key=f"{key}.template.spec.nodeSelector.{ZONE_KEY}", message=why)
    tolerated = [mapping(toleration).get("key") for toleration in sequence(pod_of(group).get("tolerations"))]
    if provisioning == "spot" and SPOT_KEY not in tolerated:
        yield Finding(
            key=f"{key}.template.spec.tolerations", message=f"lacks {SPOT_KEY}, so that no pod would start"
        )
    labels = labels_of(offer.device, provisioning=provisioning, zone=zone)
    named = {**labels, POOL_LABEL: str(group.get("groupName"))}
    yield from expected(f"{key}.labels", mapping(group.get("labels")), named)


def _provisioning_of(group: JsonObject) -> Provisioning:
    return "spot" if selector_in(group).get(SPOT_KEY) == "true" else "on_demand"


Manifest = Mapping[str, Any]

_KINDS = ("RayCluster", "RayJob")
# KubeRay 1.6.2, the published definition of RayCluster
_SPEC_KEYS = {
    "authOptions",
    "autoscalerOptions",
    "enableInTreeAutoscaling",
    "gcsFaultToleranceOptions",
    "headGroupSpec",
    "headServiceAnnotations",
    "managedBy",
    "rayVersion",
    "suspend",
    "upgradeStrategy",
    "workerGroupSpecs",
}


def check_manifests(documents: Sequence[Any], catalogue: Catalogue) -> list[Finding]:
    """Everything wrong with a file of manifests."""
    manifests = [mapping(document) for document in documents]
    clusters = [manifest for manifest in manifests if manifest.get("kind") == "RayCluster"]
    heads = [line for manifest in manifests for line in _head_lines(manifest)]
    heads += [secret for manifest in manifests for secret in secrets(manifest)]
    for cluster in clusters:
        heads += check_ray_cluster(cluster, catalogue)
    for manifest in manifests:
        if manifest.get("kind") == "RayJob":
            heads += _job(manifest, names=[mapping(one.get("metadata")).get("name") for one in clusters])
    return heads


def check_ray_cluster(manifest: dict[str, Any], catalogue: Catalogue) -> FindingLines:
    """Findings of a RayCluster; of one that has not its shape, only that."""
    spec = mapping(manifest.get("spec"))
    shape = list(require_mappings(spec, "headGroupSpec", "authOptions", "autoscalerOptions", under="spec"))
    yield from shape
    if shape:
        return
    for name in sorted(map(str, spec.keys() - _SPEC_KEYS)):
        yield Finding(key=f"spec.{name}", message=f"unknown; known: {listed(_SPEC_KEYS)}")
    yield from _settings(spec)
    yield from _head(spec["headGroupSpec"])
    groups = [mapping(group) for group in sequence(spec.get("workerGroupSpecs"))]
    names = [group.get("groupName") for group in groups]
    for number, group in enumerate(groups):
        key = f"spec.workerGroupSpecs.{number}"
        if names.index(group.get("groupName")) < number:
            yield Finding(key=f"{key}.groupName", message=f"{group.get('groupName')!r} appears twice")
        yield from check_group(key, group, catalogue)


def _head_lines(manifest: Manifest) -> FindingLines:
    kind, name = manifest.get("kind"), mapping(manifest.get("metadata")).get("name")
    if kind not in _KINDS:
        yield Finding(
            key="kind",
            message=f"{kind!r} {name!r} does not belong here, or opens a port; known: {listed(_KINDS)}",
        )
    elif manifest.get("apiVersion") != API:
        yield Finding(
            key="apiVersion", message=f"of {kind} is {manifest.get('apiVersion')!r} and must be {API!r}"
        )
    yield from require_name("metadata.name", str(name).removesuffix("-sweep"))


def _settings(spec: Manifest) -> FindingLines:
    if spec["authOptions"].get("mode") != "token":
        yield Finding(
            key="spec.authOptions.mode",
            message=f"is {spec['authOptions'].get('mode')!r} and must be 'token': "
            "who reaches the head could run anything on it",
        )
    if spec.get("rayVersion") != RAY_VERSION:
        yield Finding(
            key="spec.rayVersion",
            message=f"is {spec.get('rayVersion')!r}, and the images have {RAY_VERSION!r}",
        )
    if spec.get("enableInTreeAutoscaling") is not True or spec["autoscalerOptions"].get("version") != "v2":
        yield Finding(
            key="spec.enableInTreeAutoscaling",
            message="must be true, with autoscalerOptions.version v2, or no node comes or goes",
        )
    idle = spec["autoscalerOptions"].get("idleTimeoutSeconds")
    if not isinstance(idle, int) or idle <= 0:
        yield Finding(
            key="spec.autoscalerOptions.idleTimeoutSeconds",
            message=f"must be above 0, not {idle!r}: idle nodes are billed",
        )


def _head(head: Manifest) -> FindingLines:
    key = "spec.headGroupSpec"
    if head.get("serviceType") != "ClusterIP":
        yield Finding(
            key=f"{key}.serviceType",
            message=f"is {head.get('serviceType')!r} and must be 'ClusterIP', which the world cannot reach",
        )
    if head.get("enableIngress"):
        yield Finding(key=f"{key}.enableIngress", message="opens the dashboard; use kubectl port-forward")
    yield from check_containers(key, head)
    for name in sorted(limits_in(head).keys() & {"google.com/tpu", "nvidia.com/gpu"}):
        yield Finding(key=f"{key}.template", message=f"asks for {name}; the head runs no trial")


def _job(manifest: Manifest, *, names: Sequence[object]) -> FindingLines:
    spec = mapping(manifest.get("spec"))
    if not spec.get("entrypoint"):
        yield Finding(key="spec.entrypoint", message="of RayJob is missing; say what it runs")
    chosen = mapping(spec.get("clusterSelector")).get("ray.io/cluster")
    if chosen not in names:
        yield Finding(
            key="spec.clusterSelector.ray.io/cluster",
            message=f"{chosen!r} is not here; known: {listed(names)}",
        )
