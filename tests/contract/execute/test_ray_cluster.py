"""Resources of this host as Ray sees them, and the clusters on which trials may run."""

import os
import re
import secrets
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import grpc
import psutil
import pytest
from builders import placement, trial_spec
from cluster_builders import cluster as cluster_of_pools
from noop_trials import context, noop
from plan_builders import TPU, held, here
from process_tracking import family
from queues import queue_for
from trials import Unwatched

from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.core.placement import RankGroup


@pytest.fixture
def cluster(monkeypatch):
    """A running cluster of one node."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once in a process
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder, family(monkeypatch):
        monkeypatch.setenv("RAY_TMPDIR", folder)
        running = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        try:
            yield running
        finally:
            running.shutdown()


@pytest.mark.more
def test_ray_counts_gpus_and_chips_hands_out_gpus_by_their_ids_and_starts_no_service(monkeypatch):
    import ray

    from orchestrator.execute.on_ray import cluster as ray_cluster

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    machine = here(cpus=2, devices={"t4": held(2), "tpu_v3_8": held(1, kind="tpu", chips=4)})
    with ray_cluster.connected(machine, address="local"):
        assert ray_cluster.description() == "the cluster has 2 CPU, 2 GPU, 4 TPU"
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"
        ids = ray.remote(num_cpus=0, num_gpus=2)(ray.get_gpu_ids)
        assert sorted(ray.get(ids.remote())) == ["id-0", "id-1"]
        started = [word for child in psutil.Process().children(recursive=True) for word in child.cmdline()]
        services = ("dashboard/dashboard.py", "log_monitor.py", "monitor.py")
        assert [word for word in started if word.endswith(services)] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_cannot_reach_the_files_of_an_embedded_ray():
    from ray._private.worker import global_worker

    from orchestrator.execute.on_ray import cluster as ray_cluster

    with ray_cluster.connected(here(cpus=2), address="local"):
        session = global_worker.node.get_session_dir_path()
        look = ["/bin/ls", session]
        as_owner = subprocess.run(look, capture_output=True, text=True)
        as_nobody = subprocess.run(look, capture_output=True, text=True, user=65534, group=65534, cwd="/")
    assert as_owner.returncode == 0, as_owner.stderr
    assert as_nobody.returncode != 0
    assert "Permission denied" in as_nobody.stderr


@pytest.mark.more
def test_a_workload_that_is_too_large_to_be_sent_is_shown_in_one_line(cluster, monkeypatch):
    from orchestrator.execute.on_ray import cluster as ray_cluster

    monkeypatch.setattr("ray._private.runtime_env.packaging.GCS_STORAGE_MAX_SIZE", 1000)
    with (
        pytest.raises(ConfigError) as caught,
        ray_cluster.connected(here(cpus=2), address=cluster.address, cluster=cluster_of_pools()),
    ):
        pytest.fail("it was sent")
    assert re.fullmatch(
        r"code cannot be sent to the nodes of the cluster: Package size \(\S+MiB\) exceeds the maximum size "
        r"of 0\.00MiB; keep data out of workloads' folders",
        str(caught.value),
    )


@pytest.mark.more
def test_trials_run_on_a_cluster_of_this_host_alone_and_on_no_larger_one(cluster, tmp_path):
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    records = []
    executor = RayTuneExecutor(here(cpus=2), address=cluster.address)
    told = context(tmp_path)
    executor.run_queue(queue_for([noop()], told, here(cpus=2)), told, Unwatched(), on_record=records.append)
    assert [record.failure for record in records] == [None]
    cluster.add_node(num_cpus=1)
    with pytest.raises(ConfigError) as caught:
        executor.run_queue(
            queue_for([noop()], told, here(cpus=2)), told, Unwatched(), on_record=records.append
        )
    host = socket.gethostname()
    assert str(caught.value) == (
        f"cluster.address={cluster.address!r} is a cluster of {host}, {host}; say which pools it has, as "
        f"pools=gcp: without them it may be one whose only node is this host, {host}"
    )
    assert len(records) == 1


@pytest.mark.more
def test_a_thread_may_embed_a_cluster_though_it_can_set_no_signal():
    from orchestrator.execute.on_ray import cluster as ray_cluster

    def told():
        with ray_cluster.connected(here(cpus=2), address="local"):
            return ray_cluster.description()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(told).result() == "the cluster has 2 CPU"


def test_a_trial_on_a_slice_asks_ray_for_its_chips_also_where_they_are_fake(tmp_path):
    from orchestrator.execute.on_ray.placement_group import build_bundles

    told = context(tmp_path, devices={"tpu_v3_8": TPU})
    for kind in ("tpu", "cpu"):
        trial = placement(trial_spec(device="tpu_v3_8"), kind=kind, cpus=96, devices=1, chips=4)
        assert build_bundles(trial, told) == [{"CPU": 96.0, "TPU": 4.0}]
    assert build_bundles(noop(), told) == [{"CPU": 2.0}]


def test_a_trial_over_two_pools_asks_ray_for_a_node_of_each_and_shows_it(tmp_path):
    from orchestrator.execute.on_ray.placement_group import build_bundles, describe_request

    told = context(tmp_path)
    fast = RankGroup(
        device="a", kind="cpu", num_processes=1, threads=8, cpus=8, devices=0, chips=0, pool="fast"
    )
    slow = replace(fast, device="b", cpus=2, host=1, pool="slow", kind="gpu", chips=1, devices=1)
    both = placement(num_hosts=2, num_processes=2, pool="fast", unequal=(fast, slow))
    assert build_bundles(both, told) == [{"CPU": 8.0}, {"CPU": 2.0, "GPU": 1.0}]
    assert describe_request(both, told) == (
        "2 nodes at once with 8 CPU in pool fast and 2 CPU, 1 GPU in pool slow not free"
    )
    on_one = tuple(replace(value, host=0, pool=None) for value in (fast, slow))
    together = replace(both, num_hosts=1, pool=None, unequal=on_one)
    assert build_bundles(together, told) == [{"CPU": 10.0, "GPU": 1.0}]
    assert describe_request(together, told) == "10 CPU, 1 GPU not free"


@pytest.mark.more
def test_an_embedded_cluster_listens_on_loopback_only_and_refuses_strangers(monkeypatch):
    import ray
    from ray._private import ray_constants

    from orchestrator.execute.on_ray import cluster as ray_cluster

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # nobody's setting opens it
    with family(monkeypatch) as started, ray_cluster.connected(here(cpus=2), address="local"):
        assert ray.get(ray.remote(lambda: "a worker too").remote()) == "a worker too"
        listening = [
            net_connection.laddr.ip
            for pid in (os.getpid(), *started.pids())
            for net_connection in psutil.Process(pid).net_connections(kind="inet")
            if net_connection.status == psutil.CONN_LISTEN
        ]
        assert len(listening) > 5
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
        with (
            grpc.insecure_channel(ray.get_runtime_context().gcs_address) as stranger,
            pytest.raises(grpc.RpcError) as refused,
        ):
            stranger.unary_unary("/ray.rpc.NodeInfoGcsService/GetClusterId")(b"", timeout=10)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert ray_constants.ENABLE_RAY_CLUSTER


def test_two_kinds_of_gpu_are_refused_because_ray_mixes_them():
    from orchestrator.execute.on_ray import cluster as ray_cluster

    machine = here(devices={"t4": held(1), "a100_40": held(2)})
    with (
        pytest.raises(PlacementError) as caught,
        ray_cluster.connected(machine, address="local"),
    ):
        pytest.fail("Ray started")
    assert str(caught.value) == (
        "this host has 1 x t4, 2 x a100_40, and Ray does not tell two kinds of GPU apart; "
        "set executor=inline, or choose one: device=t4 or device=a100_40"
    )
