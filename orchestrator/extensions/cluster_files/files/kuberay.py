"""Cluster -> what KubeRay makes of it on Google Kubernetes Engine: a RayJob with its own cluster. Pure."""

import math
import re
import shlex
from collections.abc import Sequence

from orchestrator.core.device import Device, topology_of_host
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Cluster, Environment, Pool, usable_cpus
from orchestrator.execute.on_ray.pool_nodes import labels_of_pool
from orchestrator.extensions.cluster_files.files.node_requests import Plain, parse_machine
from orchestrator.extensions.cluster_files.files.yaml_text import to_yaml

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
_RECORDS_FOLDER = "/records"
_SHELL_CHARACTERS = re.compile(r"[^-\w.,:/=@+]", re.ASCII)
"""Characters that two shells, or the loss of quotes between them, could change."""


def manifests_yaml(cluster: Cluster, words: Sequence[str]) -> str:
    """Write the file for `kubectl apply`.

    Args:
        words: overrides that declare the cluster, the budget and the bucket of the records; the job repeats
            them, so that it plans for these pools.

    Raises:
        ConfigError: GKE does not offer a pool's device, no budget is given, or a shell would change a word.
    """
    comment = [
        f"Made by: python -m orchestrator {shlex.join(['cluster', *words])}",
        "Written from documentation and checked offline; it was never applied by those who wrote it.",
        "Needs KubeRay 1.6 or later, node pools of these machines, and Ray's webhook for slices of TPUs.",
    ]
    has_bucket = any(word.startswith("record.path=") for word in words)
    claims = [] if has_bucket else [_claim(cluster)]
    return to_yaml([*claims, _ray_job(cluster, words, has_claim=not has_bucket)], comment=comment)


def _ray_job(cluster: Cluster, words: Sequence[str], *, has_claim: bool) -> Plain:
    """A sweep with a cluster of its own, which is removed after the job, and at the deadline."""
    return {
        "apiVersion": API,
        "kind": "RayJob",
        "metadata": {"name": f"{cluster.cluster_name}-sweep"},
        "spec": {
            "entrypoint": _entrypoint(cluster, words, has_claim=has_claim),
            "activeDeadlineSeconds": math.ceil(cluster.deadline_hours * 3600),
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": cluster.idle_seconds,
            "rayClusterSpec": {
                "rayVersion": RAY_VERSION,
                "authOptions": {"mode": "token"},
                "enableInTreeAutoscaling": True,
                "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": cluster.idle_seconds},
                "headGroupSpec": _head(cluster, has_claim=has_claim),
                "workerGroupSpecs": [_group(pool, cluster) for pool in cluster.pools],
            },
        },
    }


def _entrypoint(cluster: Cluster, words: Sequence[str], *, has_claim: bool) -> str:
    """Return the command of the job, which no one can answer.

    KubeRay's submitter passes it through a shell, `ray job submit` takes the quotes away, and the head starts
    it with another shell: what a shell expands must not be in it at all.
    """
    if not any(word.startswith("budget.usd=") for word in words):
        raise ConfigError(
            "nobody can confirm the cost of a RayJob, so it needs a cap; add budget.usd=NUMBER, "
            "the most that its sweep may cost"
        )
    for word in words:
        if found := _SHELL_CHARACTERS.search(word):
            raise ConfigError(
                f"{word!r}: a shell on the head would read {found[0]!r}; write this key into a file in "
                "conf/pools/ that the image has too"
            )
    folder = [f"outputs={_RECORDS_FOLDER}"] if has_claim else []
    command = ["python", "-m", "orchestrator", f"+sweep={cluster.sweep}", "cluster.address=auto"]
    others = [word for word in words if not word.lstrip("+").startswith("sweep=")]
    return " ".join([*command, *others, *folder, "--yes"])


def _claim(cluster: Cluster) -> Plain:
    """Disk of the records, which outlives the job and its cluster."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"{cluster.cluster_name}-records"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{cluster.records_gib}Gi"}},
        },
    }


def find_tpu_type(device: Device, *, hosts: int) -> str:
    """Return GKE's name of the TPU type; for v3 alone, one host is named differently from a slice of
    several.
    """
    name = device.cloud_type or ""
    return name.replace("-device", "-slice") if hosts > 1 else name


def find_selector(pool: Pool) -> dict[str, str]:
    """Labels of the Kubernetes nodes that are such machines."""
    spot = {SPOT_KEY: "true"} if pool.provisioning == "spot" else {}
    if pool.device.kind == "tpu":
        shape = pool.topology or topology_of_host(pool.device)
        kind = {TPU_KEY: find_tpu_type(pool.device, hosts=pool.hosts), TOPOLOGY_KEY: shape}
    else:
        gpu = {GPU_KEY: str(pool.device.cloud_type)} if pool.device.kind == "gpu" else {}
        kind = {**gpu, MACHINE_KEY: parse_machine(pool.instance)[0]}
    return {**kind, **spot, ZONE_KEY: pool.zone}


def requested_resources(device: Device, count: int) -> dict[str, str]:
    """Return the Kubernetes resource requests of a pod; Kubernetes reserves up to a quarter of a node."""
    memory = {n: {"memory": f"{gib * 3 // 4}Gi"} for n, gib in device.host_memory_gib.items()}
    counted = {"gpu": {"nvidia.com/gpu": str(count)}, "tpu": {TPU_RESOURCE: str(device.chips)}, "cpu": {}}
    return {
        "cpu": str(usable_cpus("gke", device, count)),
        **memory.get(count, {}),
        **counted[device.kind],
    }


def _head(cluster: Cluster, *, has_claim: bool) -> Plain:
    """Return the group of the head. It has the service account too: it writes records to a bucket."""
    machine, _ = parse_machine(cluster.head.instances[1])
    resources = requested_resources(cluster.head, 1)
    pod = _pod("ray-head", cluster, "core", resources, {MACHINE_KEY: machine})
    if has_claim:
        claim = {"claimName": f"{cluster.cluster_name}-records"}
        pod["volumes"] = [{"name": "records", "persistentVolumeClaim": claim}]
        pod["securityContext"] = {"fsGroup": _CONFINED["runAsUser"]}  # a new disk belongs to root
        pod["containers"][0]["volumeMounts"] = [{"name": "records", "mountPath": _RECORDS_FOLDER}]
    return {
        "serviceType": "ClusterIP",
        "rayStartParams": {"num-cpus": "0"},
        "template": {"spec": pod},
    }


def _group(pool: Pool, cluster: Cluster) -> Plain:
    if pool.device.kind != "cpu" and pool.device.cloud_type is None:
        raise ConfigError(f"pool {pool.name}: GKE does not offer {pool.device.name}")
    if pool.count not in pool.device.host_memory_gib:
        raise ConfigError(
            f"pool {pool.name}: conf/device/{pool.device.name}.yaml lacks the memory of {pool.instance}; "
            f"add host_memory_gib: {{{pool.count}: NUMBER}}"
        )
    resources = requested_resources(pool.device, pool.count)
    pod = _pod("ray-worker", cluster, pool.environment, resources, find_selector(pool))
    tolerations = {"tolerations": [_TOLERATION]} if pool.provisioning == "spot" else {}
    return {
        "groupName": pool.name,
        "replicas": pool.min_nodes,
        "minReplicas": pool.min_nodes,
        "maxReplicas": pool.max_nodes,
        "numOfHosts": pool.hosts,
        "labels": labels_of_pool(pool),
        "rayStartParams": {},
        # Trials run on workers: they need no token of Kubernetes.
        "template": {"spec": {"automountServiceAccountToken": False, **pod, **tolerations}},
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
    account = {"serviceAccountName": cluster.service_account} if cluster.service_account else {}
    return {**account, "nodeSelector": selector, "containers": [container]}
