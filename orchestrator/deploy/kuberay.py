"""Cluster -> what KubeRay makes it of on Google Kubernetes Engine: a RayCluster, and a RayJob on it. Pure."""

import shlex
from collections.abc import Sequence

from orchestrator.core.command_text import command_text
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Cluster, Environment, Pool, usable_cpus
from orchestrator.core.tpu_topology import topology_of_host
from orchestrator.deploy.nodes import Plain, labels_of_pool, machine_of
from orchestrator.deploy.yaml_text import to_yaml

API = "ray.io/v1"
RAY_VERSION = "2.60.0"
SPOT_KEY = "cloud.google.com/gke-spot"
GPU_KEY = "cloud.google.com/gke-accelerator"
TPU_KEY = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY_KEY = "cloud.google.com/gke-tpu-topology"
MACHINE_KEY = "node.kubernetes.io/instance-type"
ZONE_KEY = "topology.kubernetes.io/zone"
_TOLERATION = {"key": SPOT_KEY, "operator": "Equal", "value": "true", "effect": "NoSchedule"}
_CONFINED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}


TPU_RESOURCE = "google.com/tpu"
_PRIVILEGED = {"privileged": True, "runAsUser": 0}
"""Security context of a container with TPU chips, as in Google's examples: libtpu pins much memory."""


def manifests_yaml(cluster: Cluster, words: Sequence[str]) -> str:
    """Write the file for `kubectl apply`.

    Args:
        words: overrides that declare the cluster; the job repeats them, so that it plans for these pools.

    Raises:
        ConfigError: GKE does not offer a pool's device.
    """
    comment = [
        f"Made by: {command_text(words, verb='cluster')}",
        "Written from documentation and checked offline; it was never applied by those who wrote it.",
        "Needs KubeRay 1.6 or later, node pools of these machines, and Ray's webhook for slices of TPUs.",
    ]
    return to_yaml([ray_cluster_of(cluster), ray_job_of(cluster, words)], comment=comment)


def ray_cluster_of(cluster: Cluster) -> Plain:
    """A head that is reached from inside only, and a group of pods for each pool."""
    return {
        "apiVersion": API,
        "kind": "RayCluster",
        "metadata": {"name": cluster.cluster_name},
        "spec": {
            "rayVersion": RAY_VERSION,
            "authOptions": {"mode": "token"},
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": cluster.idle_seconds},
            "headGroupSpec": _head(cluster),
            "workerGroupSpecs": [_group(pool, cluster) for pool in cluster.pools],
        },
    }


def ray_job_of(cluster: Cluster, words: Sequence[str]) -> Plain:
    """A sweep on that cluster, which stays when the job is done: its records are on the head."""
    return {
        "apiVersion": API,
        "kind": "RayJob",
        "metadata": {"name": f"{cluster.cluster_name}-sweep"},
        "spec": {
            "clusterSelector": {"ray.io/cluster": cluster.cluster_name},
            "entrypoint": shlex.join(
                ["python", "-m", "orchestrator", f"+sweep={cluster.sweep}", "cluster.address=auto", *words]
            ),
            "shutdownAfterJobFinishes": False,
        },
    }


def tpu_type_of(device: Device, *, hosts: int) -> str:
    """Return GKE's name of the TPU type; for v3 alone, one host is named differently from a slice of
    several.
    """
    name = device.cloud_type or ""
    return name.replace("-device", "-slice") if hosts > 1 else name


def selector_of(pool: Pool) -> dict[str, str]:
    """Labels of the Kubernetes nodes that are such machines."""
    spot = {SPOT_KEY: "true"} if pool.provisioning == "spot" else {}
    if pool.device.kind == "tpu":
        shape = pool.topology or topology_of_host(pool.device)
        kind = {TPU_KEY: tpu_type_of(pool.device, hosts=pool.hosts), TOPOLOGY_KEY: shape}
    else:
        gpu = {GPU_KEY: str(pool.device.cloud_type)} if pool.device.kind == "gpu" else {}
        kind = {**gpu, MACHINE_KEY: machine_of(pool.instance)[0]}
    return {**kind, **spot, ZONE_KEY: pool.zone}


def requested_resources(device: Device, count: int) -> dict[str, str]:
    """Return the Kubernetes resource requests of a pod."""
    counted = {"gpu": {"nvidia.com/gpu": str(count)}, "tpu": {TPU_RESOURCE: str(device.chips)}, "cpu": {}}
    return {"cpu": str(usable_cpus("gke", device, count)), **counted[device.kind]}


def _head(cluster: Cluster) -> Plain:
    machine, _ = machine_of(cluster.head.instances[1])
    spec = _pod("ray-head", cluster, "core", requested_resources(cluster.head, 1), {MACHINE_KEY: machine})
    return {
        "serviceType": "ClusterIP",
        "rayStartParams": {"num-cpus": "0"},
        "template": {"spec": spec},
    }


def _group(pool: Pool, cluster: Cluster) -> Plain:
    if pool.device.kind != "cpu" and pool.device.cloud_type is None:
        raise ConfigError(f"pool {pool.name}: GKE does not offer {pool.device.name}")
    resources = requested_resources(pool.device, pool.count)
    spec = _pod("ray-worker", cluster, pool.environment, resources, selector_of(pool))
    tolerations = {"tolerations": [_TOLERATION]} if pool.provisioning == "spot" else {}
    budget_tracker = {"serviceAccountName": cluster.service_account, "automountServiceAccountToken": False}
    return {
        "groupName": pool.name,
        "replicas": pool.min_nodes,
        "minReplicas": pool.min_nodes,
        "maxReplicas": pool.max_nodes,
        "numOfHosts": pool.hosts,
        "labels": labels_of_pool(pool),
        "rayStartParams": {},
        "template": {"spec": {**budget_tracker, **spec, **tolerations}},
    }


def _pod(
    name: str, cluster: Cluster, environment: Environment, resources: dict[str, str], selector: dict[str, str]
) -> Plain:
    container = {
        "name": name,
        "image": cluster.image(environment),
        "env": [{"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}],
        "resources": {"limits": resources, "requests": resources},
        "securityContext": _PRIVILEGED if TPU_RESOURCE in resources else _CONFINED,
    }
    return {"nodeSelector": selector, "containers": [container]}
