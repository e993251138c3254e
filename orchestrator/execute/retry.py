"""What follows a failure: start the trial again or not, keep its checkpoints or not. Pure."""

from collections.abc import Mapping

from orchestrator.core.errors import FailureKind
from orchestrator.core.result import TrialRecord

_NO_FAULT_OF_ITS_OWN: tuple[FailureKind, ...] = ("preempted", "worker_lost", "timeout", "oom")
"""Kinds that the host or its limits make: the training until then is sound."""


def starts_again(kind: FailureKind, *, times: int, limits: Mapping[FailureKind, int]) -> bool:
    """Whether a trial that has now failed `times` times with this kind is started once more."""
    return times <= limits.get(kind, 0)


def may_go_on(record: TrialRecord) -> bool:
    """Whether another attempt at the trial, now or at a later command, may go on from a checkpoint."""
    return record.failure is not None and record.failure.kind in _NO_FAULT_OF_ITS_OWN
