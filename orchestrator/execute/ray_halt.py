"""Tells the supervisors of a sweep, wherever they run, that their trials are to leave."""

import contextlib

import ray
from ray.experimental import internal_kv  # ray 2.60: the head's own table, which all of a job's processes see

_TABLE = "orchestrator"


def tell_to_leave() -> None:
    """Tell all of this job, those that begin later too."""
    internal_kv._internal_kv_put(_key(), b"", namespace=_TABLE)


def are_told_to_leave() -> bool:
    """Whether they are. False where the head does not answer."""
    with contextlib.suppress(ray.exceptions.RayError, RuntimeError, OSError):
        return bool(internal_kv._internal_kv_exists(_key(), namespace=_TABLE))
    return False


def forget() -> None:
    """Leave nothing in the table of a cluster that goes on."""
    internal_kv._internal_kv_del(_key(), namespace=_TABLE)


def _key() -> str:
    return f"leave-{ray.get_runtime_context().get_job_id()}"
