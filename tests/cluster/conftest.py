"""Clusters for these tests: real ones, whose nodes are processes of this machine."""

import pytest
from cluster_runs import POOL
from process_tracking import Family, family
from session_cache import cache
from static_cluster import static_cluster

__all__ = ["cache"]


@pytest.fixture
def relatives(monkeypatch: pytest.MonkeyPatch):
    """The processes that a test starts."""
    with family(monkeypatch) as started:
        yield started


@pytest.fixture
def nodes(request: pytest.FixtureRequest, relatives: Family, monkeypatch: pytest.MonkeyPatch):
    """Two, or as many as the test says, in a cluster with a head that runs no trial."""
    with static_cluster(POOL, monkeypatch, num_nodes=getattr(request, "param", 2)) as running:
        yield running
