"""What follows a failure: start the trial again or not, keep its checkpoints or not. Pure."""

from collections.abc import Mapping

from orchestrator.core.errors import UNSOUND, FailureKind
from orchestrator.core.result import TrialRecord

_LONGEST_REST_SECONDS = 600.0


def starts_again(kind: FailureKind, *, times: int, limits: Mapping[FailureKind, int]) -> bool:
    """Whether a trial that has now failed `times` times with this kind is started once more."""
    return times <= limits.get(kind, 0)


def rest_seconds(*, times: int, backoff_seconds: float) -> float:
    """How long a trial rests that has now failed `times` times with one kind: twice as long each time."""
    return min(backoff_seconds * 2.0 ** min(times - 1, 60), _LONGEST_REST_SECONDS)


def may_go_on(record: TrialRecord) -> bool:
    """Whether another attempt at the trial, now or at a later command, may go on from a checkpoint."""
    return record.failure is not None and record.failure.kind not in UNSOUND
