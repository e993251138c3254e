"""(seat) -> the environment variables of one worker process. Pure."""

import json
from collections.abc import Mapping

from orchestrator.core.device import DeviceKind
from orchestrator.core.trainer import RankContext

_PJRT_DEVICES: Mapping[DeviceKind, str] = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}

_SLICE_BUILDER_PORT = 8070  # torch_tpu's own first port; a trial has the TPU host to itself
_CHIP_GRIDS = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}  # of one host, v4 to v6e, as torch_tpu 0.2 has them


def alone(rank_context: RankContext) -> Mapping[str, str]:
    """Return variables of independent processes: threads, and no GPU unless requested."""
    return _process(rank_context)


def torch_distributed(rank_context: RankContext) -> Mapping[str, str]:
    """Return the variables of `torch.distributed`'s `env://`; the process of rank 0 keeps the store.

    gloo would take the address of the host's name, and nccl any interface: both get the interface to use.
    """
    host, port = _host_and_port(rank_context.addresses[0])
    return {
        **_process(rank_context),
        "MASTER_ADDR": host,
        "MASTER_PORT": port,
        "RANK": str(rank_context.rank),
        "WORLD_SIZE": str(len(rank_context.addresses)),
        "LOCAL_RANK": str(rank_context.local_rank),
        "GLOO_SOCKET_IFNAME": rank_context.interface,
        **_nccl(rank_context),
    }


def torch_tpu(rank_context: RankContext) -> Mapping[str, str]:
    """Return the variables of `torch.distributed`, and those that lay out the ranks, one chip each, on a
    slice's host.

    What torch_tpu 0.2's `set_tpu_launch_env` sets in the parent of all ranks. Written from its source and
    never run on a TPU.
    """
    ranks = range(len(rank_context.addresses))
    builders = [
        f"{_host_and_port(rank_context.addresses[0])[0]}:{_SLICE_BUILDER_PORT + rank}" for rank in ranks
    ]
    return {
        **torch_distributed(rank_context),
        "LOCAL_WORLD_SIZE": str(len(rank_context.addresses)),
        "TORCH_TPU_SLICEBUILDER_ADDRESSES": ",".join(builders),
        "TORCH_TPU_TOPOLOGY": _CHIP_GRIDS[len(rank_context.addresses)],
        "TORCH_TPU_XPROF_SESSION_ID": _host_and_port(rank_context.addresses[0])[
            1
        ],  # any that all ranks agree on
    }


def tensorflow_cluster(rank_context: RankContext) -> Mapping[str, str]:
    """TF_CONFIG where there are several processes; a single one must not have it."""
    variables = {
        **_process(rank_context),
        "KERAS_BACKEND": "tensorflow",
        "LOCAL_RANK": str(rank_context.local_rank),
        **_nccl(rank_context),
    }
    if len(rank_context.addresses) > 1:
        variables["TF_CONFIG"] = json.dumps(
            {
                "cluster": {"worker": list(rank_context.addresses)},
                "task": {"type": "worker", "index": rank_context.rank},
            }
        )
    return variables


def xla_spmd(rank_context: RankContext) -> Mapping[str, str]:
    """PJRT's device; one process drives those of its host. On a CPU there is a virtual one for each replica.

    The hosts of a TPU slice find each other by their addresses, in the order of their places in the slice; a
    single host contacts no server. Written from Cloud TPU's documentation and never run on a TPU. CPU hosts
    meet in a group of `torch.distributed`.
    """
    num_processes = len(rank_context.addresses)
    variables = {**_process(rank_context), "PJRT_DEVICE": _PJRT_DEVICES[rank_context.kind]}
    if rank_context.kind == "cpu":
        variables["CPU_NUM_DEVICES"] = str(rank_context.replicas // num_processes)
        variables["NPROC"] = str(rank_context.threads)  # sizes the thread pool of XLA's CPU client
    if rank_context.kind == "cpu" and num_processes > 1:
        variables |= torch_distributed(rank_context)
    if rank_context.kind == "tpu" and rank_context.num_hosts > 1:
        variables["TPU_WORKER_ID"] = str(rank_context.host)
        variables["TPU_WORKER_HOSTNAMES"] = ",".join(
            _host_and_port(address)[0] for address in rank_context.addresses
        )
    return variables


def _process(rank_context: RankContext) -> dict[str, str]:
    variables = {"OMP_NUM_THREADS": str(rank_context.threads)}
    if rank_context.kind == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def _nccl(rank_context: RankContext) -> dict[str, str]:
    """Within a host nccl needs no network."""
    return (
        {"NCCL_SOCKET_IFNAME": rank_context.interface}
        if rank_context.kind == "gpu" and rank_context.num_hosts > 1
        else {}
    )


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host, port
