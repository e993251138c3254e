"""Prepared data of a test session in a cache of its own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """One for all of its tests, for it takes a second to fill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORCHESTRATOR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
