"""Environment variables of worker processes are a function of rank and addresses."""

import json

import pytest

from orchestrator.train import rendezvous

TWO_HERE = ("127.0.0.1:4001", "127.0.0.1:4002")
TWO_HOSTS = ("10.0.0.1:4001", "10.0.0.1:4002", "10.0.0.2:4001", "10.0.0.2:4002")
CPU = {"kind": "cpu", "threads": 1}
ALL = [
    rendezvous.alone,
    rendezvous.torch_distributed,
    rendezvous.tensorflow_cluster,
    rendezvous.xla_spmd,
]


@pytest.mark.parametrize("variables", ALL)
def test_a_trial_on_the_cpu_sees_no_gpu_and_uses_its_threads(variables) -> None:
    found = variables(0, TWO_HERE[:1], kind="cpu", replicas=1, world_size=1, threads=3)
    assert found["CUDA_VISIBLE_DEVICES"] == ""
    assert found["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("variables", ALL)
def test_a_trial_on_a_gpu_keeps_the_devices_it_was_given(variables) -> None:
    found = variables(0, TWO_HERE[:1], kind="gpu", replicas=1, world_size=1, threads=3)
    assert "CUDA_VISIBLE_DEVICES" not in found


def test_torch_ranks_meet_at_the_address_of_rank_zero() -> None:
    found = rendezvous.torch_distributed(1, TWO_HERE, replicas=2, world_size=2, **CPU)
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("127.0.0.1", "4001")
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"]) == ("1", "2", "1")


def test_a_local_rank_counts_the_earlier_ranks_of_the_same_host() -> None:
    local_ranks = [
        rendezvous.torch_distributed(rank, TWO_HOSTS, kind="gpu", replicas=4, world_size=4, threads=1)[
            "LOCAL_RANK"
        ]
        for rank in range(4)
    ]
    assert local_ranks == ["0", "1", "0", "1"]


@pytest.mark.parametrize(("addresses", "interface"), [(TWO_HERE, "lo"), (TWO_HOSTS, None)])
def test_gloo_is_kept_on_loopback_only_where_all_ranks_are(addresses, interface) -> None:
    found = rendezvous.torch_distributed(
        0, addresses, replicas=len(addresses), world_size=len(addresses), **CPU
    )
    assert found.get("GLOO_SOCKET_IFNAME") == interface


def test_tf_config_names_every_worker_and_this_one() -> None:
    found = rendezvous.tensorflow_cluster(1, TWO_HERE, replicas=2, world_size=2, **CPU)
    assert json.loads(found["TF_CONFIG"]) == {
        "cluster": {"worker": ["127.0.0.1:4001", "127.0.0.1:4002"]},
        "task": {"type": "worker", "index": 1},
    }


def test_a_single_tensorflow_process_has_no_tf_config() -> None:
    found = rendezvous.tensorflow_cluster(0, TWO_HERE[:1], replicas=2, world_size=1, **CPU)
    assert "TF_CONFIG" not in found
    assert found["KERAS_BACKEND"] == "tensorflow"


def test_xla_has_a_virtual_cpu_device_for_each_replica() -> None:
    found = rendezvous.xla_spmd(0, TWO_HERE[:1], replicas=2, world_size=1, **CPU)
    assert (found["PJRT_DEVICE"], found["CPU_NUM_DEVICES"], found["NPROC"]) == ("CPU", "2", "1")


def test_xla_on_a_tpu_drives_the_devices_that_are_there() -> None:
    found = rendezvous.xla_spmd(0, TWO_HERE[:1], kind="tpu", replicas=8, world_size=1, threads=4)
    assert found["PJRT_DEVICE"] == "TPU"
    assert "CPU_NUM_DEVICES" not in found
