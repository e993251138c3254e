"""(rank, addresses, …) -> the environment variables of one worker process. Pure."""

import json
from collections.abc import Mapping

from orchestrator.core.device import DeviceKind

_PJRT_DEVICES: Mapping[DeviceKind, str] = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}


def alone(
    _rank: int, _addresses: tuple[str, ...], /, *, kind: DeviceKind, threads: int, **_: object
) -> Mapping[str, str]:
    """Processes that do not talk to each other: threads, and no GPU where none is asked for."""
    return _process(kind, threads)


def torch_distributed(
    rank: int, addresses: tuple[str, ...], /, *, kind: DeviceKind, threads: int, **_: object
) -> Mapping[str, str]:
    """Variables of `torch.distributed`'s `env://`; the process of rank 0 keeps the store."""
    host, port = _host_and_port(addresses[0])
    return {
        **_process(kind, threads),
        "MASTER_ADDR": host,
        "MASTER_PORT": port,
        "RANK": str(rank),
        "WORLD_SIZE": str(len(addresses)),
        "LOCAL_RANK": str(_local_rank(rank, addresses)),
        **_gloo(addresses),
    }


def tensorflow_cluster(
    rank: int, addresses: tuple[str, ...], /, *, kind: DeviceKind, threads: int, **_: object
) -> Mapping[str, str]:
    """TF_CONFIG where there are several processes; a single one must not have it."""
    variables = {
        **_process(kind, threads),
        "KERAS_BACKEND": "tensorflow",
        "LOCAL_RANK": str(_local_rank(rank, addresses)),
    }
    if len(addresses) > 1:
        variables["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": list(addresses)}, "task": {"type": "worker", "index": rank}}
        )
    return variables


def xla_spmd(
    _rank: int,
    _addresses: tuple[str, ...],
    /,
    *,
    kind: DeviceKind,
    replicas: int,
    threads: int,
    **_ignored: object,
) -> Mapping[str, str]:
    """PJRT's device, and on a CPU as many virtual ones as there are replicas; one process drives them."""
    variables = {**_process(kind, threads), "PJRT_DEVICE": _PJRT_DEVICES[kind]}
    if kind == "cpu":
        variables["CPU_NUM_DEVICES"] = str(replicas)
        variables["NPROC"] = str(threads)  # sizes the thread pool of XLA's CPU client
    return variables


def _process(kind: DeviceKind, threads: int) -> dict[str, str]:
    variables = {"OMP_NUM_THREADS": str(threads)}
    if kind == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def _gloo(addresses: tuple[str, ...]) -> dict[str, str]:
    """Keep gloo on the loopback interface where all ranks are: it would take the host name's address."""
    hosts = {_host_and_port(each)[0] for each in addresses}
    is_local = all(host == "localhost" or host.startswith("127.") for host in hosts)
    return {"GLOO_SOCKET_IFNAME": "lo"} if is_local else {}


def _local_rank(rank: int, addresses: tuple[str, ...]) -> int:
    """Number of earlier ranks on the same host."""
    hosts = [_host_and_port(each)[0] for each in addresses]
    return hosts[:rank].count(hosts[rank])


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host, port
