"""A word of the driver to the supervisor of an attempt, on whichever node: that the attempt must leave."""

import contextlib
from collections.abc import Iterator

import ray

# ray 2.60: its public ways to leave a word for an actor that is busy are processes of their own
from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_exists, _internal_kv_put

from orchestrator.core.placement import Attempt


def request_stop(attempt: Attempt) -> None:
    """Once or more often. The word is lost where the head does not answer."""
    with _head_may_be_gone():
        _internal_kv_put(f"{_of_this_driver()}{_name(attempt)}", b"")


def stop_requested(attempt: Attempt) -> bool:
    """Return whether this driver requested the attempt to stop; False where the head does not answer."""
    with _head_may_be_gone():
        return bool(_internal_kv_exists(f"{_of_this_driver()}{_name(attempt)}"))
    return False


def clear_requests() -> None:
    """All words of this driver: the head may outlive it."""
    with _head_may_be_gone():
        _internal_kv_del(_of_this_driver(), del_by_prefix=True)


def _of_this_driver() -> str:
    """Return a name that no other driver of the cluster has, and that this driver's trials know."""
    return f"orchestrator/{ray.get_runtime_context().get_job_id()}/"


def _name(attempt: Attempt) -> str:
    return f"{attempt.placement.trial_id}-{attempt.number}"


@contextlib.contextmanager
def _head_may_be_gone() -> Iterator[None]:
    with contextlib.suppress(ray.exceptions.RayError, RuntimeError, OSError):
        yield
