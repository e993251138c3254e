"""A Ray cluster with processes of this host as nodes: they start on demand, and end when they are idle.

Its head, its autoscaler and its nodes are Ray's own; the resources that they declare do not exist.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray

from orchestrator.core.errors import PlacementError
from orchestrator.core.pool import Cluster, Pool
from orchestrator.execute.machine import child_process as child
from orchestrator.execute.machine.child_process import link_code
from orchestrator.execute.on_ray.pool_nodes import build_resources, labels_of_pool

_HEAD_ID = "f" * 51 + "00000"
_HEAD_TYPE = "ray.head.default"
_STORE_BYTES = 100_000_000
_END_SECONDS = 30.0
_NO_LISTS = (  # Ray's autoscaler wants each of them
    "initialization_commands",
    "setup_commands",
    "head_setup_commands",
    "worker_setup_commands",
    "head_start_ray_commands",
    "worker_start_ray_commands",
    "cluster_synced_files",
    "rsync_exclude",
    "rsync_filter",
)


@contextlib.contextmanager
def fake_cluster(cluster: Cluster, *, folder: Path) -> Iterator[str]:
    """Start a head for those pools and yield its address. All of it ends with this process, however it ends.

    Args:
        folder: for Ray's files, with a short name.

    Raises:
        PlacementError: the head does not start.
    """
    host = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call] # Ray has no type there
    port, dashboard_port, client_port = _free_ports(3)
    config = folder / "autoscaler.json"
    config.write_text(json.dumps(_autoscaler_config(cluster, gcs_address=f"{host}:{port}")))
    (folder / "ray").mkdir()
    link_code(folder / "code")
    with (folder / "head.log").open("wb") as log:
        keeper = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "orchestrator.execute.machine.subreaper"),
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head"),
                *("--num-cpus=0", f"--port={port}", f"--autoscaling-config={config}"),
                *("--disable-usage-stats", "--include-dashboard=False", f"--dashboard-port={dashboard_port}"),
                *(f"--ray-client-server-port={client_port}", f"--object-store-memory={_STORE_BYTES}"),
            ],
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is for the driver to handle
        )
    try:
        _wait_for(keeper, log=folder / "head.log")
        yield f"{host}:{port}"
    finally:
        child.end(keeper, seconds=_END_SECONDS)


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment that makes a head take nodes from the fake provider, isolated from other heads
    of this host.
    """
    return {
        **{name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"},
        "PYTHONPATH": os.pathsep.join([str(folder / "code"), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "RAY_TMPDIR": str(folder),
        "RAY_FAKE_CLUSTER": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_CLOUD_INSTANCE_ID": _HEAD_ID,
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": _HEAD_ID,
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
    }


def _autoscaler_config(cluster: Cluster, *, gcs_address: str) -> dict[str, Any]:
    head = {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0}
    workers = {pool.name: _node_type(pool) for pool in cluster.available_pools}
    return {
        "cluster_name": cluster.cluster_name,
        "max_workers": cluster.max_nodes,
        "idle_timeout_minutes": cluster.idle_seconds / 60,
        "upscaling_speed": 1.0,
        "head_node_type": _HEAD_TYPE,
        "available_node_types": {_HEAD_TYPE: head, **workers},
        "provider": {
            "type": "external",
            "module": "orchestrator.execute.on_ray.fake_nodes.FakeNodes",
            "gcs_address": gcs_address,
            "head_node_id": _HEAD_ID,
            "launch_multiple": True,
            "use_node_id_as_ip": True,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
        },
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        **{name: [] for name in _NO_LISTS},
    }


def _node_type(pool: Pool) -> dict[str, Any]:
    """Return Ray's node type of a pool: its accelerators, and one core for each."""
    counted = {**build_resources(pool.device, pool.count), "CPU": pool.count}
    return {
        "resources": {**counted, "object_store_memory": _STORE_BYTES},
        "labels": labels_of_pool(pool),
        "node_config": {},
        "min_workers": pool.min_nodes,
        "max_workers": pool.max_nodes * pool.hosts,
    }


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for server in sockets:
            server.bind(("", 0))
        return [socket.getsockname()[1] for socket in sockets]


def _wait_for(keeper: "subprocess.Popen[str]", *, log: Path) -> None:
    assert keeper.stdout is not None
    if keeper.stdout.readline() != "ready\n":
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise PlacementError(f"cluster=fake: Ray's head did not start: {'; '.join(last)}")
