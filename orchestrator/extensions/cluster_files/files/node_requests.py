"""Requests to Google Cloud for the nodes of pools. Pure."""

from typing import Any

from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Cluster, Pool

Plain = dict[str, Any]

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_BOOT_DISK_GB = 200  # images of a framework with CUDA or libtpu take about 20 GB unpacked


def parse_machine(instance: str) -> tuple[str, int]:
    """The machine type and the accelerators that are attached to it: `n1-standard-8+2xT4` has 2."""
    machine, _, attached = instance.partition("+")
    return machine, int(attached.partition("x")[0] or 0)


def build_node_config(pool: Pool, cluster: Cluster) -> Plain:
    """The body of the request for one node."""
    return _tpu(pool, cluster) if pool.device.kind == "tpu" else _machine(pool, cluster)


def build_head_config(cluster: Cluster) -> Plain:
    """The body of the request for the head, which is on demand."""
    machine, _ = parse_machine(cluster.head.instances[1])
    return {"machineType": machine, "disks": _disks(cluster, kind="cpu")}


def _machine(pool: Pool, cluster: Cluster) -> Plain:
    machine, attached = parse_machine(pool.instance)
    accelerators = [{"acceleratorType": pool.device.cloud_type, "acceleratorCount": attached}]
    driver = {"items": [{"key": "install-nvidia-driver", "value": "True"}]}
    return {
        "machineType": machine,
        **({"guestAccelerators": accelerators} if attached else {}),
        **({"metadata": driver} if pool.device.kind == "gpu" else {}),
        **_scheduling(pool),
        "disks": _disks(cluster, kind=pool.device.kind),
        "serviceAccounts": _accounts(cluster),
    }


def _tpu(pool: Pool, cluster: Cluster) -> Plain:
    if pool.device.runtime is None:
        raise ConfigError(
            f"pool {pool.name}: the software version of {pool.device.name} is unknown: runtime in its file"
        )
    return {
        "acceleratorType": pool.device.slice_type,
        "runtimeVersion": pool.device.runtime,
        **({"schedulingConfig": {"preemptible": True}} if pool.provisioning == "spot" else {}),
        "serviceAccounts": _accounts(cluster),
    }


def _scheduling(pool: Pool) -> Plain:
    """A machine with a GPU cannot be moved; one on spot is deleted when it is taken, with its disk."""
    spot = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE", "automaticRestart": False}
    fixed = {"onHostMaintenance": "TERMINATE"}
    is_spot = pool.provisioning == "spot"
    chosen = {**(spot if is_spot else {}), **(fixed if is_spot or pool.device.kind == "gpu" else {})}
    return {"scheduling": chosen} if chosen else {}


def _disks(cluster: Cluster, *, kind: str) -> list[Plain]:
    boot = {
        "sourceImage": cluster.boot_images[kind],
        "diskSizeGb": _BOOT_DISK_GB,
        "diskType": f"zones/{cluster.zone}/diskTypes/pd-balanced",
    }
    return [{"boot": True, "autoDelete": True, "type": "PERSISTENT", "initializeParams": boot}]


def _accounts(cluster: Cluster) -> list[Plain]:
    return [{"email": cluster.service_account, "scopes": _SCOPES}]
