"""Cluster -> the configuration of Ray's cluster launcher. Pure."""

import shlex
from collections.abc import Mapping, Sequence

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Cluster, Pool, parse_region
from orchestrator.execute.on_ray.pool_nodes import build_resources, find_labels, labels_of_pool
from orchestrator.extensions.cluster_files.files.node_requests import (
    Plain,
    build_head_config,
    build_node_config,
)
from orchestrator.extensions.cluster_files.files.yaml_text import to_yaml

_HEAD = "head"
_TOKEN = "~/.ray/auth_token"  # noqa: S105  where it lies
_RUN_OPTIONS: Mapping[DeviceKind, tuple[str, ...]] = {
    "cpu": (),
    "gpu": ("--gpus all",),
    "tpu": ("--privileged", "--ulimit memlock=-1:-1"),  # libtpu pins memory for transfers
}
_WAIT_FOR_DRIVER = "timeout 900 bash -c 'until nvidia-smi > /dev/null 2>&1; do sleep 10; done'"
"""The image installs the driver after the first boot; a container with GPUs does not start before."""
_ENVIRONMENT = "export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0; ulimit -n 65536;"


def launcher_yaml(cluster: Cluster, words: Sequence[str]) -> str:
    """Write the file for `ray up`.

    Args:
        words: overrides that declare the cluster.

    Raises:
        ConfigError: no pool is in its zone.
    """
    elsewhere = [f"{pool.name} in {pool.zone}" for pool in cluster.pools if pool.zone != cluster.zone]
    comment = [
        f"Made by: python -m orchestrator {shlex.join(['cluster', *words])}",
        "Written from documentation and checked offline; it was never launched by those who wrote it.",
        *(
            ["Pools of other zones, each zone a cluster of its own: " + ", ".join(elsewhere)]
            if elsewhere
            else []
        ),
    ]
    return to_yaml([build_launcher(cluster)], comment=comment)


def build_launcher(cluster: Cluster) -> Plain:
    """The configuration as plain values."""
    if not cluster.available_pools:
        zones = ", ".join(sorted({pool.zone for pool in cluster.pools}))
        raise ConfigError(f"pools.zone={cluster.zone!r}: no pool is there; pools are in: {zones or 'none'}")
    return {
        "cluster_name": cluster.cluster_name,
        "max_workers": cluster.max_nodes,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": cluster.idle_seconds / 60,
        "provider": {
            "type": "gcp",
            "region": parse_region(cluster.zone),
            "availability_zone": cluster.zone,
            "project_id": cluster.project,
        },
        "auth": {"ssh_user": "ubuntu"},
        "docker": {
            "image": cluster.image("core"),
            "container_name": "ray",
            "pull_before_run": True,
            "run_options": ["--env RAY_AUTH_MODE=token", "--ulimit nofile=65536:65536"],
        },
        "head_node_type": _HEAD,
        "available_node_types": {
            _HEAD: _head(cluster),
            **{pool.name: _node_type(pool, cluster) for pool in cluster.available_pools},
        },
        "file_mounts": {_TOKEN: _TOKEN},
        **_commands(cluster),
    }


def _head(cluster: Cluster) -> Plain:
    return {
        "min_workers": 0,
        "max_workers": 0,
        "resources": {"CPU": 0},
        "labels": find_labels(cluster.head, provisioning="on_demand", zone=cluster.zone),
        "node_config": build_head_config(cluster),
    }


def _node_type(pool: Pool, cluster: Cluster) -> Plain:
    kind = pool.device.kind
    return {
        "min_workers": pool.min_nodes,
        "max_workers": pool.max_nodes,
        "resources": build_resources(pool.device, pool.count),
        "labels": labels_of_pool(pool),
        "docker": {
            "worker_image": cluster.image(pool.environment),
            "worker_run_options": list(_RUN_OPTIONS[kind]),
            "pull_before_run": True,
        },
        **({"initialization_commands": [*_login(cluster), _WAIT_FOR_DRIVER]} if kind == "gpu" else {}),
        "node_config": build_node_config(pool, cluster),
    }


def _login(cluster: Cluster) -> list[str]:
    """Return the commands that let a host start containers of the registry."""
    registry = shlex.quote(cluster.registry.partition("/")[0])
    return ["sudo usermod -aG docker $USER", f"gcloud auth configure-docker {registry} --quiet"]


def _commands(cluster: Cluster) -> Plain:
    """The images hold all that is needed. Without these, Ray's own defaults would install another Ray.

    Nodes stop their Ray first, as in Ray's own examples: a second `ray up` sends the commands again. A node
    runs nothing but this cluster, in a container of its own.
    """
    return {
        "initialization_commands": _login(cluster),
        "setup_commands": [],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": [
            "ray stop",
            f"{_ENVIRONMENT} export RAY_enable_autoscaler_v2=1; ray start --head --port=6379 "
            "--object-manager-port=8076 --autoscaling-config=~/ray_bootstrap_config.yaml "
            "--dashboard-host=127.0.0.1",
        ],
        "worker_start_ray_commands": [
            "ray stop",
            f"{_ENVIRONMENT} ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076",
        ],
    }
