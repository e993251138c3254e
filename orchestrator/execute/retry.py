"""(failure kind, how often it happened, limits) -> start the trial again, or not. Pure."""

from collections.abc import Mapping

from orchestrator.core.errors import FailureKind


def starts_again(kind: FailureKind, *, times: int, limits: Mapping[FailureKind, int]) -> bool:
    """Whether a trial that has now failed `times` times with this kind is started once more."""
    return times <= limits.get(kind, 0)
