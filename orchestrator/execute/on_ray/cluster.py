"""The Ray cluster that trials run on: an embedded one on this host, or one that exists."""

import contextlib
import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ray

import orchestrator
import workloads
from orchestrator.core.device import Node
from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.core.inventory import Inventory
from orchestrator.core.pool import Cluster
from orchestrator.execute.machine import gpus
from orchestrator.execute.on_ray.fake_cluster import fake_cluster
from orchestrator.execute.on_ray.ray_internals import (
    listening_on_loopback,
    raylet_below,
    reload_token,
    set_variable,
    without_messages,
    without_services,
)
from orchestrator.execute.on_ray.raylet_guard import guarded
from orchestrator.extension import export_extensions
from orchestrator.train.process.temp_dirs import temporary_folder

# Read by Ray when it is imported or started, in this process and in those that it starts.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no telemetry
    "RAY_worker_niceness": "0",  # 15 by default, which any other process of the host would outrun
    "RAY_AIR_NEW_OUTPUT": "0",  # the newer one prints a banner even when it is told to be silent
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # our ledger records
    "TUNE_MAX_PENDING_TRIALS_PG": "100000",  # our queue knows how many: 1 by default for a searcher
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",  # Tune's own state is never restored
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is the command line's
    "TUNE_WARN_SLOW_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "86400",
}

_NOT_SHIPPED = ["**/__pycache__/**"]

_SLOW_START = "node timed out during startup"  # Ray's words
_ANSWER_SECONDS = 5.0  # ray 2.60 itself tries for minutes to reach a cluster that is not there


@contextlib.contextmanager
def connected(
    inventory: Inventory, *, address: str, cluster: Cluster | None = None, packages: Iterable[Path] = ()
) -> Iterator[None]:
    """Connect to the cluster at `address`, or start one that ends with this process.

    Args:
        address: `local` embeds one of this host; `fake` starts one with the pools of `cluster`.
        packages: folders of Python packages that nodes of pools get, beside our own.

    Raises:
        ConfigError: the cluster at `address` has other hosts than this one, and no pools are declared; or a
            package that is too large to be sent.
        PlacementError: there is no cluster at `address`, or this process uses Ray already.
    """
    if ray.is_initialized():  # by the user of a notebook, whose cluster must not be shut down
        raise PlacementError(
            "this process is connected to a Ray cluster already; call ray.shutdown() first, "
            "or set executor=inline"
        )
    os.environ.update(_SETTINGS)
    logging.getLogger("ray").setLevel(logging.ERROR)
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # the error of a trial is in its record
    on_sigterm = signal.getsignal(signal.SIGTERM)
    shipped = _build_runtime_env(packages) if cluster else None
    with temporary_folder("ray-") as folder, contextlib.ExitStack() as held:
        try:
            if address == "local":
                held.enter_context(without_messages())
                _embed(inventory.host, folder)
            elif address == "fake":
                assert cluster is not None, "pools are declared for it"
                _share_a_token()
                _join(held.enter_context(fake_cluster(cluster, folder=folder)), shipped)
            else:
                _join(address, shipped)
            # ray 2.60 takes the signal for itself: it would print a stack and leave with exit code 1
            if threading.current_thread() is threading.main_thread():  # in no other one it can
                signal.signal(signal.SIGTERM, on_sigterm)
            if address != "local" and cluster is None:
                _require_this_host_alone(address)
            yield
        finally:
            ray.shutdown()


def _share_a_token() -> None:
    """Let clusters that this process starts have a token of their own.

    ray 2.60 asks for one by default, keeps it at home unless one is set, and reads it once: all that this
    process starts have the same.
    """
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    reload_token()


def _embed(node: Node, folder: Path) -> None:
    """Start a Ray of this machine alone.

    Ray 2.60 opens its folder to all users (mode 0777). It gets a subfolder: `folder` keeps others out.

    Raises:
        PlacementError: the sweep uses two kinds of GPU of this machine, which Ray gives out as one kind; or
            Ray does not start in time.
    """
    kinds = [name for name, accelerators in node.devices.items() if accelerators.kind == "gpu"]
    if len(kinds) > 1:
        raise PlacementError(
            f"this host has {node.holdings}, and Ray does not tell two kinds of GPU apart; "
            f"set executor=inline, or choose one: {' or '.join(f'device={name}' for name in kinds)}"
        )
    _share_a_token()
    held = tuple(node.devices.values())
    gpu_ids = [id_ for accelerators in held if accelerators.kind == "gpu" for id_ in accelerators.ids]
    tpu_chips = sum(
        accelerators.chips * len(accelerators.ids) for accelerators in held if accelerators.kind == "tpu"
    )
    gpus_of_ray = set_variable(gpus.VARIABLE, ",".join(gpu_ids))  # it takes them as it starts
    with (
        gpus_of_ray,
        listening_on_loopback(),
        without_services(),
        raylet_below(guarded),
        _refusing_slow_start(),
    ):
        ray.init(
            address="local",
            num_cpus=node.cpus,
            num_gpus=len(gpu_ids),
            resources={"TPU": tpu_chips} if tpu_chips else None,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=str(folder / "r"),
        )


@contextlib.contextmanager
def _refusing_slow_start() -> Iterator[None]:
    """Raise PlacementError where ray 2.60 gives up its own start after 30 s; its error has no type."""
    try:
        yield
    except Exception as error:
        if _SLOW_START not in str(error):
            raise
        raise PlacementError(
            "Ray did not start within its 30 s, for this host is busy; run the same command again, or set "
            "executor=inline"
        ) from error


def _build_runtime_env(packages: Iterable[Path]) -> dict[str, Any]:
    """Return what nodes get: our code and the users', and the variable that names the extensions.

    Nodes may lack these modules or have older ones.
    """
    ours = [Path(str(package.__file__)).parent for package in (orchestrator, workloads)]
    modules = [str(package) for package in dict.fromkeys([*ours, *packages])]
    return {"py_modules": modules, "excludes": _NOT_SHIPPED, "env_vars": export_extensions()}


def _join(address: str, runtime_env: Mapping[str, Any] | None) -> None:
    try:
        if address != "auto":
            host, _, port = address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host, port), _ANSWER_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=runtime_env)
    except OSError as error:
        cause = error.strerror or str(error).partition(".")[0]  # Ray goes on to tell of its own flags
        raise PlacementError(
            f"no Ray cluster answers at cluster.address={address!r} ({cause}); "
            "it may be local, auto, or HOST:PORT of one that runs"
        ) from error
    except ray.exceptions.RuntimeEnvSetupError as error:
        cause = str(error.__cause__ or error).partition(". ")[0]
        raise ConfigError(
            f"code cannot be sent to the nodes of the cluster: {cause}; keep data out of workloads' folders"
        ) from error


def _require_this_host_alone(address: str) -> None:
    """Refuse a cluster of several hosts without declared pools: a trial's id names the CPU model of this
    host.
    """
    nodes = ray.nodes()  # type: ignore[no-untyped-call] # Ray has no type there
    hosts = [str(node["NodeManagerHostname"]) for node in nodes if node["Alive"]]
    here = socket.gethostname()
    if hosts != [here]:
        raise ConfigError(
            f"cluster.address={address!r} is a cluster of {', '.join(sorted(hosts))}; say which pools "
            f"it has, as pools=gcp: without them it may be one whose only node is this host, {here}"
        )


def description() -> str:
    """Describe the resources of the connected cluster in one line."""
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call] # Ray has no type there
    amounts = [f"{resources[name]:g} {name}" for name in ("CPU", "GPU", "TPU") if name in resources]
    return "the cluster has " + (", ".join(amounts) or "nothing")
