"""Manifests for KubeRay -> what is wrong with them: their shape, who can reach them, what they cost. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.core.device import count_chips, find_topologies, parse_generation
from orchestrator.core.pool import Catalogue, parse_region
from orchestrator.core.price import Provisioning
from orchestrator.execute.on_ray.pool_nodes import POOL_LABEL, find_labels
from orchestrator.extensions.cluster_files.checks.access import check_account, check_image, secrets
from orchestrator.extensions.cluster_files.checks.finding import (
    Finding,
    FindingLines,
    JsonObject,
    expected,
    listed,
    mapping,
    require_mappings,
    require_name,
    sequence,
    whole,
)
from orchestrator.extensions.cluster_files.checks.machine_types import (
    Offer,
    Refused,
    find_pod,
    limits_in,
    not_sold,
    offer_of_group,
    selector_in,
)
from orchestrator.extensions.cluster_files.files.kuberay import (
    API,
    RAY_VERSION,
    SPOT_KEY,
    TOPOLOGY_KEY,
    TPU_RESOURCE,
    ZONE_KEY,
    requested_resources,
)

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
    pod = find_pod(group)
    if pod.get("hostNetwork"):
        yield Finding(key=f"{key}.template.spec.hostNetwork", message="opens every port of a pod on its node")
    if "serviceAccountName" in pod:
        account = f"{key}.template.spec.serviceAccountName"
        yield from check_account(account, pod["serviceAccountName"], "gke")
    containers = sequence(pod.get("containers"))
    if not containers:
        yield Finding(key=f"{key}.template.spec.containers", message="has no container")
    for number, container in enumerate(map(mapping, containers)):
        here = f"{key}.template.spec.containers.{number}"
        yield from check_image(f"{here}.image", container.get("image"))
        confined = mapping(container.get("securityContext"))
        resources = mapping(container.get("resources"))
        has_tpu = TPU_RESOURCE in mapping(resources.get("limits"))
        if not has_tpu and (confined.get("runAsNonRoot") is not True or confined.get("privileged")):
            yield Finding(
                key=f"{here}.securityContext", message="must have runAsNonRoot: true and no privileged: true"
            )
        limits = mapping(resources.get("limits"))
        if limits != resources.get("requests") or not limits:
            yield Finding(key=f"{here}.resources", message="must have limits, and requests equal to them")
        elif "memory" not in limits:
            message = "must limit the memory: a pod without is killed first, and others with it"
            yield Finding(key=f"{here}.resources.limits.memory", message=message)


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
        topologies = find_topologies(parse_generation(str(offer.device.slice_type)))
        if topology not in topologies:
            yield Finding(
                key=f"{key}.template.spec.nodeSelector.{TOPOLOGY_KEY}",
                message=f"topology {topology!r} does not exist; possible: {', '.join(topologies[:10])}",
            )
            return
        hosts = count_chips(topology) // offer.device.chips
    if group.get("numOfHosts", 1) != hosts:
        yield Finding(
            key=f"{key}.numOfHosts", message=f"is {group.get('numOfHosts', 1)!r} and must be {hosts}"
        )


def _sold(key: str, group: JsonObject, offer: Offer, catalogue: Catalogue) -> FindingLines:
    zone, provisioning = str(selector_in(group).get(ZONE_KEY)), _build_provisioning(group)
    if why := not_sold(
        offer.instance, region=parse_region(zone), provisioning=provisioning, catalogue=catalogue
    ):
        yield Finding(key=f"{key}.template.spec.nodeSelector.{ZONE_KEY}", message=why)
    tolerated = [
        mapping(toleration).get("key") for toleration in sequence(find_pod(group).get("tolerations"))
    ]
    if provisioning == "spot" and SPOT_KEY not in tolerated:
        yield Finding(
            key=f"{key}.template.spec.tolerations", message=f"lacks {SPOT_KEY}, so that no pod would start"
        )
    labels = find_labels(offer.device, provisioning=provisioning, zone=zone)
    named = {**labels, POOL_LABEL: str(group.get("groupName"))}
    yield from expected(f"{key}.labels", mapping(group.get("labels")), named)


def _build_provisioning(group: JsonObject) -> Provisioning:
    return "spot" if selector_in(group).get(SPOT_KEY) == "true" else "on_demand"


Manifest = Mapping[str, Any]

CLUSTER_KINDS = ("RayCluster", "RayJob")
_API_OF_KIND = {**dict.fromkeys(CLUSTER_KINDS, API), "PersistentVolumeClaim": "v1"}
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
    findings = [line for manifest in manifests for line in _head_lines(manifest)]
    findings += [secret for manifest in manifests for secret in secrets(manifest)]
    names = [_find_name(manifest) for manifest in manifests if manifest.get("kind") == "RayCluster"]
    for manifest in manifests:
        spec = mapping(manifest.get("spec"))
        if manifest.get("kind") == "RayCluster":
            findings += check_ray_cluster("spec", spec, catalogue)
        elif manifest.get("kind") == "RayJob":
            findings += _job(spec, names=names)
            if "rayClusterSpec" in spec:
                cluster = mapping(spec["rayClusterSpec"])
                findings += check_ray_cluster("spec.rayClusterSpec", cluster, catalogue)
    return findings


def check_ray_cluster(key: str, spec: Manifest, catalogue: Catalogue) -> FindingLines:
    """Findings of the specification of a Ray cluster; of one that has not its shape, only that.

    Args:
        key: place of the specification in its manifest.
    """
    shape = list(require_mappings(spec, "headGroupSpec", "authOptions", "autoscalerOptions", under=key))
    yield from shape
    if shape:
        return
    for name in sorted(map(str, spec.keys() - _SPEC_KEYS)):
        yield Finding(key=f"{key}.{name}", message=f"unknown; known: {listed(_SPEC_KEYS)}")
    yield from _settings(key, spec)
    yield from _head(f"{key}.headGroupSpec", spec["headGroupSpec"])
    seen: set[str] = set()
    for number, group in enumerate(map(mapping, sequence(spec.get("workerGroupSpecs")))):
        here, name = f"{key}.workerGroupSpecs.{number}", repr(group.get("groupName"))
        if name in seen:
            yield Finding(key=f"{here}.groupName", message=f"{name} appears twice")
        seen.add(name)
        yield from check_group(here, group, catalogue)


def _find_name(manifest: Manifest) -> object:
    return mapping(manifest.get("metadata")).get("name")


def _head_lines(manifest: Manifest) -> FindingLines:
    kind, name = manifest.get("kind"), _find_name(manifest)
    api = _API_OF_KIND.get(str(kind))
    if api is None:
        yield Finding(
            key="kind",
            message=f"{kind!r} {name!r} does not belong here, or opens a port; known: {listed(_API_OF_KIND)}",
        )
    elif manifest.get("apiVersion") != api:
        yield Finding(
            key="apiVersion", message=f"of {kind} is {manifest.get('apiVersion')!r} and must be {api!r}"
        )
    yield from require_name("metadata.name", str(name).removesuffix("-sweep").removesuffix("-records"))


def _settings(key: str, spec: Manifest) -> FindingLines:
    if spec["authOptions"].get("mode") != "token":
        yield Finding(
            key=f"{key}.authOptions.mode",
            message=f"is {spec['authOptions'].get('mode')!r} and must be 'token': "
            "who reaches the head could run anything on it",
        )
    if spec.get("rayVersion") != RAY_VERSION:
        yield Finding(
            key=f"{key}.rayVersion",
            message=f"is {spec.get('rayVersion')!r}, and the images have {RAY_VERSION!r}",
        )
    if spec.get("enableInTreeAutoscaling") is not True or spec["autoscalerOptions"].get("version") != "v2":
        yield Finding(
            key=f"{key}.enableInTreeAutoscaling",
            message="must be true, with autoscalerOptions.version v2, or no node comes or goes",
        )
    idle = spec["autoscalerOptions"].get("idleTimeoutSeconds")
    if not isinstance(idle, int) or idle <= 0:
        yield Finding(
            key=f"{key}.autoscalerOptions.idleTimeoutSeconds",
            message=f"must be above 0, not {idle!r}: idle nodes are billed",
        )


def _head(key: str, head: Manifest) -> FindingLines:
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


def _job(spec: Manifest, *, names: Sequence[object]) -> FindingLines:
    """Check that a job can start, ends, and costs no more than its user allows."""
    entrypoint = str(spec.get("entrypoint") or "")
    if not entrypoint:
        yield Finding(key="spec.entrypoint", message="of RayJob is missing; say what it runs")
    elif "orchestrator" in entrypoint:
        for word in ("--yes", "budget.usd="):
            if not any(given.startswith(word) for given in entrypoint.split()):
                message = f"has no {word}: nobody can confirm the cost of a job"
                yield Finding(key="spec.entrypoint", message=message)
    if whole(spec.get("activeDeadlineSeconds")) <= 0:
        yield Finding(
            key="spec.activeDeadlineSeconds",
            message=f"must be above 0, not {spec.get('activeDeadlineSeconds')!r}: a job that hangs is billed",
        )
    if "rayClusterSpec" in spec:
        if spec.get("shutdownAfterJobFinishes") is not True:
            yield Finding(
                key="spec.shutdownAfterJobFinishes",
                message="must be true: a head that outlives its job is billed",
            )
        return
    chosen = mapping(spec.get("clusterSelector")).get("ray.io/cluster")
    if chosen not in names:
        yield Finding(
            key="spec.clusterSelector.ray.io/cluster",
            message=f"{chosen!r} is not here; known: {listed(names)}",
        )
