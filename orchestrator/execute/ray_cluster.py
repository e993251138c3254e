"""The Ray cluster that trials run on: an embedded one on this host, or one that exists."""

import contextlib
import logging
import os
import secrets
import tempfile
from collections.abc import Iterator

import ray

from orchestrator.core.device import Node

# Read by Ray when it is imported or started, in this process and in those that it starts.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no telemetry
    "RAY_worker_niceness": "0",  # 15 by default, which any other process of the host would outrun
    "RAY_AIR_NEW_OUTPUT": "0",  # the newer one prints a banner even when it is told to be silent
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # our ledger records
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",  # Tune's own state is never restored
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is the command line's
    "TUNE_WARN_SLOW_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "86400",
}


@contextlib.contextmanager
def connected(node: Node, *, address: str) -> Iterator[None]:
    """Connect to the cluster at `address`, or embed one whose processes end with this one."""
    os.environ.update(_SETTINGS)
    logging.getLogger("ray").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if address == "local":
            # ray 2.60 asks for a token by default, keeps one at home unless one is set, and reads it once:
            # every cluster that this process embeds has the same.
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            gpus = sum(node.devices.values())
            ray.init(
                address="local",
                num_cpus=node.cpus,
                num_gpus=gpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=folder,
            )
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        try:
            yield
        finally:
            ray.shutdown()


def description() -> str:
    """What the connected cluster has, in one line."""
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call] # Ray has no type there
    known = [f"{resources[name]:g} {name}" for name in ("CPU", "GPU", "TPU") if name in resources]
    return "the cluster has " + (", ".join(known) or "nothing")
