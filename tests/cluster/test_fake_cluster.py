"""A sweep on a cluster with a real autoscaler, whose nodes are processes of this machine."""

import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_process import ask, records_in, start
from process_tracking import Family, command_of

pytest.importorskip("ray", reason="Ray is not installed")

WORDS = (
    "+sweep=smoke",
    "sweep.include=[]",
    "trainer=noop",
    "precision=fp32",
    "data.source=synthetic",
    "tracking=none",
    "cluster=fake",
)
POOL_OF = {"cpu": "cpu", "t4": "t4-spot", "tpu_v3_8": "tpu-v3-8", "v100": "v100"}
DEVICES = f"device={','.join(POOL_OF)}"


def find_place(record: Mapping[str, Any]) -> tuple[str, str]:
    return record["spec"]["device"], record["placement"]["node"].rpartition("-")[0]


def test_a_pool_without_nodes_fails_its_trials_in_time_and_no_others(tmp_path, relatives):
    """The one node that the cluster may have is the other pool's, and one actor runs all trials there."""
    only_cpus = ("pools.max_nodes=1", "pools.nodes.cpu.min_nodes=1")
    words = (*WORDS, "device=t4,cpu", "seed=0,1,2,3", "executor.resources_seconds=30", *only_cpus)
    supervisors = set()
    with start(*words, cwd=tmp_path) as driver:
        while driver.poll() is None:
            supervisors |= {pid for pid in relatives.pids() if command_of(pid).startswith("ray::Implicit")}
            time.sleep(0.2)
        said, _ = driver.communicate()
    records = records_in(tmp_path)
    assert driver.returncode == 1
    assert "supervise" not in said, "Tune's own words"
    assert len(supervisors) == 1, "a waiting trial of another pool must not end the actor"
    failures = [record["failure"] for record in records if record["spec"]["device"] == "t4"]
    assert [record["failure"] for record in records if record["spec"]["device"] == "cpu"] == [None] * 4
    assert {failure["kind"] for failure in failures} == {"infeasible"}
    assert len(failures) == 4
    assert failures[-1]["message"].startswith(
        "1 CPU, 1 GPU not free in pool t4-spot after 30 s; the cluster has"
    )
    waited = [
        record for record in records if record["ended_at"] - record["started_at"] > 15 and record["failure"]
    ]
    assert len(waited) == 2, "two have a node between them; the others do not wait in their turn"


def test_nodes_come_for_demand_and_go_to_make_room_and_a_killed_driver_takes_its_cluster_along(
    tmp_path: Path, relatives: Family
):
    """Two nodes at once for four pools: each trial lands in its own, in the first command or the second.

    One of them has both nodes of its pool, for four of the device are more than a node has; four workers on
    CPUs share a node, and of the others there are no four.
    """
    words = (*WORDS, DEVICES, "num_workers=1,4", "pools.max_nodes=2", "pools.idle_seconds=2")
    with start(*words, cwd=tmp_path) as driver:
        while not records_in(tmp_path):
            assert driver.poll() is None
            time.sleep(0.05)
        os.kill(driver.pid, signal.SIGKILL)
    relatives.wait_until_gone(seconds=60)
    before = records_in(tmp_path)
    answer = ask(*words, cwd=tmp_path)
    assert (answer.code, f"{len(before)} cached" in answer.out) == (0, True), answer.err
    records = records_in(tmp_path)
    assert records[: len(before)] == before
    assert sorted(find_place(record) for record in records) == sorted(
        [*POOL_OF.items(), ("cpu", "cpu"), ("t4", "t4-spot")]
    )
    (spread,) = [record for record in records if record["spec"]["num_hosts"] == 2]
    nodes = {spread["placement"]["node"], *spread["placement"]["other_nodes"]}
    assert {node.rpartition("-")[0] for node in nodes} == {"t4-spot"}
    assert len(nodes) == 2
    assert {(record["provenance"], record["failure"] is None) for record in records} == {("rehearsed", True)}
    relatives.wait_until_gone()


def test_a_killed_head_ends_the_command_in_one_line_and_the_same_command_goes_on_under_another(
    tmp_path: Path, relatives: Family
):
    words = (*WORDS, "device=t4,v100", "seed=0,1,2,3", "pools.max_nodes=1")
    with start(*words, cwd=tmp_path) as driver:
        while not records_in(tmp_path):
            assert driver.poll() is None
            time.sleep(0.05)
        (head,) = [pid for pid in relatives.pids() if psutil.Process(pid).name() == "gcs_server"]
        os.kill(head, signal.SIGKILL)
        said, _ = driver.communicate(timeout=120)
    relatives.wait_until_gone(seconds=60)
    *_, last = said.strip().splitlines()
    assert driver.returncode == 1
    assert re.fullmatch(
        r"error: the head of the cluster at \S+ is gone; finished trials are kept, "
        r"and the same command runs the rest on a cluster that answers",
        last,
    )
    before = records_in(tmp_path)
    assert 0 < len(before) < 8
    answer = ask(*words, cwd=tmp_path)
    assert (answer.code, f"{len(before)} cached" in answer.out) == (0, True), answer.err
    assert records_in(tmp_path)[: len(before)] == before
    assert len(records_in(tmp_path)) == 8
