"""Cores that a trial can have: of quotas as text, and of the files of control groups of both versions."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execute.machine.cgroup import cores_within, format_quotas, num_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 8),
        ("-1 100000", 8),
        ("", 8),
        (" ", 8),
        ("400000 100000", 4),
        ("250000 100000", 2),
        ("50000 100000", 1),
        ("1600000 100000", 8),
        ("100000 50000", 2),
    ],
)
def test_a_quota_on_eight_cores_leaves_its_number_of_whole_cores(quota, cores):
    assert cores_within(8, quotas=[quota]) == cores


def test_the_least_quota_counts():
    assert cores_within(8, quotas=["max 100000", "600000 100000", "300000 100000", ""]) == 3


@given(st.integers(1, 256), st.lists(st.integers(1, 10**8).map(lambda quota: f"{quota} 100000")))
def test_a_trial_has_one_core_at_least_and_never_more_than_are_allowed(allowed, quotas):
    assert 1 <= cores_within(allowed, quotas=quotas) <= allowed


@pytest.fixture
def host(tmp_path):
    """Writes files of control groups, and says how many of eight cores they leave."""

    def cores(groups: str, **texts: str) -> int:
        (tmp_path / "cgroup").write_text(groups)
        for name, text in texts.items():
            path = tmp_path / "fs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return cores_within(8, quotas=format_quotas(tmp_path / "cgroup", tmp_path / "fs"))

    return cores


def test_version_two_is_asked_of_our_group_and_of_those_above_it(host):
    own = {"pod/trial/cpu.max": "400000 100000\n", "pod/cpu.max": "200000 100000\n"}
    assert host("0::/pod/trial\n", **own, **{"other/cpu.max": "100000 100000\n"}) == 2


def test_version_one_is_asked_of_the_group_of_the_controller_named_cpu(host):
    files = {
        "cpu/pod/cpu.cfs_quota_us": "300000\n",
        "cpu/pod/cpu.cfs_period_us": "100000\n",
        "cpu/set/cpu.cfs_quota_us": "100000\n",
        "cpu/set/cpu.cfs_period_us": "100000\n",
    }
    assert host("5:cpuset:/set\n3:cpu,cpuacct:/pod\n1:name=systemd:/set\n", **files) == 3


def test_a_container_that_sees_its_group_as_the_root_is_asked_there(host):
    files = {"cpu/cpu.cfs_quota_us": "500000\n", "cpu/cpu.cfs_period_us": "100000\n"}
    assert host("3:cpu,cpuacct:/docker/7f3a\n", **files) == 5


def test_a_group_without_a_quota_leaves_all_cores(host):
    assert host("0::/\n") == 8
    assert host("1:cpu:/\n", **{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}) == 8


def test_a_host_without_control_groups_has_no_quota(tmp_path):
    assert list(format_quotas(tmp_path / "cgroup", tmp_path)) == []


def test_this_host_can_be_asked():
    assert 1 <= num_cores() <= len(os.sched_getaffinity(0))
