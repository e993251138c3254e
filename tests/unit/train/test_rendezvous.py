"""Environment variables of worker processes are a function of rank and addresses."""

import json

import pytest

from orchestrator.core.trainer import RankContext
from orchestrator.extensions.scripts.trainers import build_rank_variables
from orchestrator.train import rendezvous

TWO_HERE = ("127.0.0.1:4001", "127.0.0.1:4002")
TWO_HOSTS = ("10.0.0.1:4001", "10.0.0.1:4002", "10.0.0.2:4001", "10.0.0.2:4002")
SLICES = {
    "v3-8": (8, "10.0.0.1"),
    "v4-16": (8, "10.0.0.1 10.0.0.2"),
    "v5litepod-8": (8, "10.0.0.1"),
    "v6e-16": (16, "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4"),
}
"""The replicas of each, as XLA counts them: cores of a v3, chips of the others. And its hosts."""

ALL = [
    rendezvous.alone,
    rendezvous.torch_distributed,
    rendezvous.torch_tpu,
    rendezvous.tensorflow_cluster,
    rendezvous.xla_spmd,
]


def rank_context(rank: int = 0, addresses: tuple[str, ...] = TWO_HERE[:1], **changes) -> RankContext:
    """Build a context on the CPU of one host, with one process per replica and one thread per replica."""
    host, local_rank = divmod(rank, len(addresses) // changes.get("num_hosts", 1))
    places = {"host": host, "local_rank": local_rank}
    told = {"kind": "cpu", "replicas": len(addresses), "threads": 1, **places, **changes}
    return RankContext(rank=rank, addresses=addresses, **told)


@pytest.mark.parametrize("variables", ALL)
def test_a_trial_on_the_cpu_sees_no_gpu_and_uses_its_threads(variables) -> None:
    found = variables(rank_context(threads=3))
    assert found["CUDA_VISIBLE_DEVICES"] == ""
    assert found["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("variables", ALL)
def test_a_trial_on_a_gpu_keeps_the_devices_it_was_given(variables) -> None:
    assert "CUDA_VISIBLE_DEVICES" not in variables(rank_context(kind="gpu"))


def test_torch_ranks_meet_at_the_address_of_rank_zero() -> None:
    found = rendezvous.torch_distributed(rank_context(1, TWO_HERE))
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("127.0.0.1", "4001")
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"]) == ("1", "2", "1")


@pytest.mark.parametrize("variables", [rendezvous.torch_distributed, rendezvous.tensorflow_cluster])
def test_a_local_rank_is_that_among_the_ranks_of_its_host(variables) -> None:
    rank_contexts = [rank_context(rank, TWO_HOSTS, kind="gpu", num_hosts=2) for rank in range(4)]
    assert [variables(rank_context)["LOCAL_RANK"] for rank_context in rank_contexts] == ["0", "1", "0", "1"]


def test_a_script_of_one_worker_has_no_rank() -> None:
    assert set(build_rank_variables(rank_context())) == {"OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}


def test_a_script_of_two_workers_has_the_ranks_of_both_frameworks() -> None:
    found = build_rank_variables(rank_context(1, TWO_HERE))
    assert (found["RANK"], found["WORLD_SIZE"]) == ("1", "2")
    assert json.loads(found["TF_CONFIG"])["task"] == {"type": "worker", "index": 1}
    assert "KERAS_BACKEND" not in found


def test_gloo_takes_the_interface_by_which_the_ranks_reach_each_other() -> None:
    assert rendezvous.torch_distributed(rank_context(0, TWO_HERE))["GLOO_SOCKET_IFNAME"] == "lo"
    far = rank_context(2, TWO_HOSTS, num_hosts=2, interface="eth0")
    assert rendezvous.torch_distributed(far)["GLOO_SOCKET_IFNAME"] == "eth0"


@pytest.mark.parametrize("variables", [rendezvous.torch_distributed, rendezvous.tensorflow_cluster])
def test_nccl_gets_the_interface_only_between_hosts(variables) -> None:
    far = rank_context(2, TWO_HOSTS, kind="gpu", num_hosts=2, interface="eth0")
    assert variables(far)["NCCL_SOCKET_IFNAME"] == "eth0"
    assert "NCCL_SOCKET_IFNAME" not in variables(rank_context(1, TWO_HERE, kind="gpu"))


@pytest.mark.parametrize(("chips", "grid"), [(1, "1,1,1"), (4, "2,2,1"), (8, "2,4,1")])
def test_the_chips_of_a_tpu_build_their_slice_at_ports_that_every_rank_knows(chips, grid) -> None:
    addresses = tuple(f"10.0.0.1:{4001 + rank}" for rank in range(chips))
    ranks = [rendezvous.torch_tpu(rank_context(rank, addresses, kind="tpu")) for rank in range(chips)]
    shared = ("TORCH_TPU_SLICEBUILDER_ADDRESSES", "TORCH_TPU_TOPOLOGY", "TORCH_TPU_XPROF_SESSION_ID")
    assert {tuple(rank[name] for name in shared) for rank in ranks} == {
        (",".join(f"10.0.0.1:{8070 + rank}" for rank in range(chips)), grid, "4001")
    }
    assert [rank["LOCAL_RANK"] for rank in ranks] == [str(rank) for rank in range(chips)]
    assert {rank["LOCAL_WORLD_SIZE"] for rank in ranks} == {str(chips)}


def test_tf_config_names_every_worker_and_this_one() -> None:
    found = rendezvous.tensorflow_cluster(rank_context(1, TWO_HERE))
    assert json.loads(found["TF_CONFIG"]) == {
        "cluster": {"worker": ["127.0.0.1:4001", "127.0.0.1:4002"]},
        "task": {"type": "worker", "index": 1},
    }


def test_a_single_tensorflow_process_has_no_tf_config() -> None:
    found = rendezvous.tensorflow_cluster(rank_context(replicas=2))
    assert "TF_CONFIG" not in found
    assert found["KERAS_BACKEND"] == "tensorflow"


@pytest.mark.parametrize("slice_type", ["v3-8", "v5litepod-8"])
def test_tensorflow_drives_the_chips_of_one_tpu_host_without_a_cluster(slice_type) -> None:
    found = rendezvous.tensorflow_cluster(rank_context(kind="tpu", replicas=SLICES[slice_type][0], threads=4))
    assert found == {"OMP_NUM_THREADS": "4", "KERAS_BACKEND": "tensorflow", "LOCAL_RANK": "0"}


def test_xla_has_a_virtual_cpu_device_for_each_replica() -> None:
    found = rendezvous.xla_spmd(rank_context(replicas=2))
    assert (found["PJRT_DEVICE"], found["CPU_NUM_DEVICES"], found["NPROC"]) == ("CPU", "2", "1")


def test_xla_on_cpu_hosts_has_the_replicas_of_its_own_and_meets_the_others() -> None:
    addresses = ("10.0.0.1:4001", "10.0.0.2:4002")
    found = rendezvous.xla_spmd(rank_context(1, addresses, replicas=4, num_hosts=2, interface="eth0"))
    assert (found["PJRT_DEVICE"], found["CPU_NUM_DEVICES"], found["RANK"]) == ("CPU", "2", "1")
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("10.0.0.1", "4001")
    assert found["GLOO_SOCKET_IFNAME"] == "eth0"
    assert "MASTER_ADDR" not in rendezvous.xla_spmd(rank_context(replicas=2))


@pytest.mark.parametrize("slice_type", SLICES)
def test_each_host_of_a_slice_gets_its_place_and_a_single_host_gets_none(slice_type) -> None:
    replicas, listed = SLICES[slice_type]
    hosts = listed.split()
    told = {"kind": "tpu", "replicas": replicas, "threads": 4, "num_hosts": len(hosts)}
    addresses = tuple(f"{host}:4001" for host in hosts)
    for host in range(len(hosts)):
        place = {"TPU_WORKER_ID": str(host), "TPU_WORKER_HOSTNAMES": ",".join(hosts)}
        assert rendezvous.xla_spmd(rank_context(host, addresses, **told)) == {
            "OMP_NUM_THREADS": "4",
            "PJRT_DEVICE": "TPU",
            **(place if len(hosts) > 1 else {}),
        }
