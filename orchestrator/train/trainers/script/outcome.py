"""(exit code and standard error of a training script) -> its failure, or None. Pure."""

import re
import signal

from orchestrator.core.errors import FailureKind, TrialError
from orchestrator.train.failures import kind_of_line
from orchestrator.train.trainers.script.guard import NOT_FOUND
from orchestrator.train.trainers.script.variables import RENDEZVOUS, ScriptVariables

_TRACEBACK = "Traceback (most recent call last):"
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit codes of a killed process: of the command itself, or of a shell that the command started."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")
_RANK = re.compile(r"^\[rank\d+\]: ?")  # torch.distributed begins the lines of a traceback so


def failure_in(code: int, standard_error: str, *, variables: ScriptVariables) -> TrialError | None:
    """Return the failure of a script that has ended; None for exit code 0.

    Args:
        code: as in `subprocess`, negative for a signal.
        variables: its environment.
    """
    if code == 0:
        return None
    cause = cause_in(standard_error)
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    hint = hint_for(cause, variables)
    return TrialError(_classify_kind(code, cause), f"the script {how}{f': {cause}' if cause else ''}{hint}")


def hint_for(cause: str, variables: ScriptVariables) -> str:
    """Return what to write where the cause names a variable that the script did not get; empty otherwise."""
    named = set(_VARIABLE.findall(cause)) - variables.passed.keys()
    if named & set(RENDEZVOUS):
        return (
            "; a trial with one worker sets no ranks, as a run of your own: start a script that needs them "
            "by torchrun --standalone --nproc_per_node=1"
        )
    missing = sorted(named & set(variables.left_out))
    return (
        f"; a scheduler's variable is not passed on: write env {missing[0]}=… into the command"
        if missing
        else ""
    )


def cause_in(standard_error: str) -> str:
    """Return the line of the exception that ended a Python script; without a traceback the last line.

    Frameworks write warnings at their exit, after the traceback.
    """
    lines = [_RANK.sub("", line).rstrip() for line in standard_error.splitlines()]
    filled = [line for line in lines if line]
    if _TRACEBACK not in filled:
        return filled[-1].strip() if filled else ""
    last = len(filled) - 1 - filled[::-1].index(_TRACEBACK)
    return next((line for line in filled[last + 1 :] if not line[0].isspace()), filled[-1].strip())


def _classify_kind(code: int, cause: str) -> FailureKind:
    if code == NOT_FOUND:
        return "environment"
    return "worker_lost" if code in _KILLED else kind_of_line(cause)
