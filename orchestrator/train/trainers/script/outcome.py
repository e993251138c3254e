"""(exit code and standard error of a training script) -> the failure that they tell of, or None. Pure."""

import re
import signal

from orchestrator.core.errors import FailureKind, TrialError
from orchestrator.train.failures import kind_of_line
from orchestrator.train.trainers.script.guard import NOT_FOUND

_TRACEBACK = "Traceback (most recent call last):"
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit codes of a killed process: of the command itself, or of a shell that the command started."""
_RANK = re.compile(r"^\[rank\d+\]: ?")  # torch.distributed begins the lines of a traceback so


def failure_in(code: int, standard_error: str) -> TrialError | None:
    """Return the failure of a script that has ended; None for exit code 0.

    Args:
        code: as in `subprocess`, negative for a signal.
    """
    if code == 0:
        return None
    cause = cause_in(standard_error)
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return TrialError(_kind_of(code, cause), f"the script {how}{f': {cause}' if cause else ''}")


def cause_in(standard_error: str) -> str:
    """Return the line of the exception that ended a Python script; without a traceback the last line.

    Frameworks write warnings at their exit, after the traceback.
    """
    lines = [_RANK.sub("", line).rstrip() for line in standard_error.splitlines()]
    told = [line for line in lines if line]
    if _TRACEBACK not in told:
        return told[-1].strip() if told else ""
    last = len(told) - 1 - told[::-1].index(_TRACEBACK)
    return next((line for line in told[last + 1 :] if not line[0].isspace()), told[-1].strip())


def _kind_of(code: int, cause: str) -> FailureKind:
    if code == NOT_FOUND:
        return "environment"
    return "worker_lost" if code in _KILLED else kind_of_line(cause)
