"""A load above the cores of this host is named before trials start that it would disturb."""

import os

import pytest

from orchestrator.config.loader import load
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.pipeline.preflight import describe_busy_host


@pytest.mark.parametrize(("more", "is_warned"), [(-0.5, False), (0.5, True)])
def test_a_load_above_the_cores_gives_a_warning(more, is_warned, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (num_cores() + more, 0.0, 0.0))
    lines = describe_busy_host(load(["+sweep=smoke"], working_directory=tmp_path))
    assert bool(lines) == is_warned
    assert all("marked noisy" in line for line in lines)


def test_the_load_of_the_host_that_drives_a_cluster_disturbs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    assert describe_busy_host(load(["+sweep=smoke", "cluster=fake"], working_directory=tmp_path)) == ()
