"""Commands of these tests keep prepared data in a cache of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """One for all of them, for it takes a second to fill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORCHESTRATOR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
