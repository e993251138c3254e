"""Manifests for KubeRay -> what is wrong with them: their shape, who can reach them, what they cost. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.core.pool import Catalogue
from orchestrator.deploy.check_access import secrets
from orchestrator.deploy.check_groups import check_containers, check_group
from orchestrator.deploy.finding import (
    Finding,
    Findings,
    listed,
    mapping,
    require_mappings,
    require_name,
    sequence,
)
from orchestrator.deploy.group_offers import limits_in
from orchestrator.deploy.manifests import API, RAY_VERSION

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
    manifests = [mapping(each) for each in documents]
    clusters = [each for each in manifests if each.get("kind") == "RayCluster"]
    found = [each for manifest in manifests for each in _head_lines(manifest)]
    found += [each for manifest in manifests for each in secrets(manifest)]
    for each in clusters:
        found += check_ray_cluster(each, catalogue)
    for each in manifests:
        if each.get("kind") == "RayJob":
            found += _job(each, names=[mapping(one.get("metadata")).get("name") for one in clusters])
    return found


def check_ray_cluster(manifest: dict[str, Any], catalogue: Catalogue) -> Findings:
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
    groups = [mapping(each) for each in sequence(spec.get("workerGroupSpecs"))]
    names = [each.get("groupName") for each in groups]
    for number, group in enumerate(groups):
        key = f"spec.workerGroupSpecs.{number}"
        if names.index(group.get("groupName")) < number:
            yield Finding(key=f"{key}.groupName", message=f"{group.get('groupName')!r} stands twice")
        yield from check_group(key, group, catalogue)


def _head_lines(manifest: Manifest) -> Findings:
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


def _settings(spec: Manifest) -> Findings:
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


def _head(head: Manifest) -> Findings:
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


def _job(manifest: Manifest, *, names: Sequence[object]) -> Findings:
    spec = mapping(manifest.get("spec"))
    if not spec.get("entrypoint"):
        yield Finding(key="spec.entrypoint", message="of RayJob is missing; say what it runs")
    chosen = mapping(spec.get("clusterSelector")).get("ray.io/cluster")
    if chosen not in names:
        yield Finding(
            key="spec.clusterSelector.ray.io/cluster",
            message=f"{chosen!r} is not here; known: {listed(names)}",
        )
