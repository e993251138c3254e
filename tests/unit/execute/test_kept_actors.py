"""Actors that Tune keeps between two trials, in Tune's own cache."""

from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

from ray.tune.utils.object_cache import _ObjectCache

from orchestrator.execute.on_ray.tune_adapters import KeptActors


def controller_where_others_wait() -> SimpleNamespace:
    """A controller with a trial of pool `b` that waits for its node: Tune keeps no actor of pool `a`."""
    cache = _ObjectCache(may_keep_one=True)
    cache.increase_max("b")
    return SimpleNamespace(_actor_cache=cache)


def ended(controller: SimpleNamespace, actors: KeptActors | None) -> bool:
    """Return whether Tune keeps the actor of a trial of pool `a` that ends now."""
    if actors is not None:
        actors.keep(controller, SimpleNamespace(placement_group_factory="a"))
    return bool(controller._actor_cache.cache_object("a", "actor"))


def test_tune_alone_ends_the_actor_while_a_trial_of_another_pool_waits():
    assert not ended(controller_where_others_wait(), None)


def test_a_kept_actor_lives_until_the_next_trials_are_chosen():
    controller, actors = controller_where_others_wait(), KeptActors()
    assert ended(controller, actors)
    assert list(controller._actor_cache.flush_cached_objects()) == []
    assert controller._actor_cache.pop_cached_object("a") == "actor"


def test_a_kept_actor_that_no_chosen_trial_takes_is_ended():
    controller, actors = controller_where_others_wait(), KeptActors()
    ended(controller, actors)
    actors.release()
    assert list(controller._actor_cache.flush_cached_objects()) == ["actor"]
