"""A real Ray cluster on this host: a head that runs no trial, and nodes of a pool that are processes."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from orchestrator.core.pool import Pool
from orchestrator.execute.on_ray.pool_nodes import labels_of_pool

_NOTICED_SOON = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}


def raylet_above(process: psutil.Process) -> psutil.Process:
    """Return the raylet of the node that runs a process."""
    return next(parent for parent in process.parents() if parent.name() == "raylet")


def node_id_of(raylet: psutil.Process) -> str:
    """Ray's id of its node."""
    (told,) = [word for word in raylet.cmdline() if word.startswith("--node_id=")]
    return told.partition("=")[2]


@contextlib.contextmanager
def static_cluster(pool: Pool, patch: pytest.MonkeyPatch, *, num_nodes: int, **node: Any) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster` of so many nodes with eight cores, and what else is told of each."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once in a process
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        patch.setenv("RAY_TMPDIR", folder)
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": _NOTICED_SOON}
        running = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(num_nodes):
                running.add_node(num_cpus=8, labels=labels_of_pool(pool), **node)
            yield running
        finally:
            running.shutdown()
