"""Retry policy: start a failed trial again or not, keep its checkpoints or not. Pure."""

from collections.abc import Mapping

from orchestrator.core.errors import UNSOUND, FailureKind
from orchestrator.core.result import TrialRecord

_LONGEST_REST_SECONDS = 600.0


def starts_again(kind: FailureKind, *, times: int, limits: Mapping[FailureKind, int]) -> bool:
    """Return whether a trial that failed `times` times with this kind of failure is started once more."""
    return times <= limits.get(kind, 0)


def rest_seconds(*, times: int, backoff_seconds: float) -> float:
    """Return the delay before a retry after `times` failures of one kind: doubled each time."""
    return min(backoff_seconds * 2.0 ** min(times - 1, 60), _LONGEST_REST_SECONDS)


def may_go_on(record: TrialRecord) -> bool:
    """Return whether another attempt, now or in a later command, may resume from a checkpoint."""
    return record.failure is not None and record.failure.kind not in UNSOUND
