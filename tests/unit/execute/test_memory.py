"""The kernel's count of processes killed for memory, read from files as a control group has them."""

from pathlib import Path

import pytest

from orchestrator.execute.machine.cgroup import num_oom_kills


@pytest.fixture
def group(tmp_path):
    """The folder of a control group, named by `tmp_path / "cgroup"`."""
    (tmp_path / "cgroup").write_text("1:name=systemd:/other\n0::/user.slice/trial\n")
    folder = tmp_path / "fs" / "user.slice" / "trial"
    folder.mkdir(parents=True)
    return folder


def kills(tmp_path: Path) -> int:
    return num_oom_kills(tmp_path / "cgroup", tmp_path / "fs")


def test_kills_of_our_own_group_are_counted(tmp_path, group):
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 4\noom_kill 3\noom_group_kill 1\n")
    assert kills(tmp_path) == 3


def test_a_kernel_that_does_not_count_kills_has_none(tmp_path, group):
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 0\noom 0\n")
    assert kills(tmp_path) == 0


def test_a_group_without_a_memory_controller_has_none(tmp_path, group):
    assert kills(tmp_path) == 0


def test_a_host_with_control_groups_of_version_one_only_has_none(tmp_path):
    (tmp_path / "cgroup").write_text("4:memory:/user.slice\n1:name=systemd:/other\n")
    assert kills(tmp_path) == 0


def test_a_host_without_control_groups_has_none(tmp_path):
    assert kills(tmp_path) == 0


def test_this_host_can_be_asked():
    assert num_oom_kills() >= 0
