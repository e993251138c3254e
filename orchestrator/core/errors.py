"""The tree of errors.

OrchestratorError          one clear line for the user; only `cli.py` catches it, `api.py` lets it pass
├── ConfigError            what was asked cannot be understood
│   └── UnknownNameError   a name that does not exist, with the nearest one that does
├── PlacementError         what was asked cannot be run here
├── TrialError             one trial failed, with the class of its failure
└── RecordError            a record or the place it is kept in is unusable
"""

import difflib
from collections.abc import Iterable
from typing import Literal, get_args

from orchestrator.core.printable import one_line, printable

FailureKind = Literal[
    "oom",
    "preempted",
    "worker_lost",
    "timeout",
    "diverged",
    "environment",
    "infeasible",
    "device_mismatch",
    "invalid_measurement",
    "error",
    "budget",
    "pruned",
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
NEVER_RETRIED: tuple[FailureKind, ...] = ("budget", "pruned")
"""Kinds that are decisions on a trial; the same command may start it again, and a retry would undo them."""
UNSOUND: tuple[FailureKind, ...] = ("diverged", "device_mismatch", "invalid_measurement", "error")
"""Kinds that speak against the training itself; the others are the host's or its limits' doing."""


_MOST_COMPARED = 3


class OrchestratorError(Exception):
    """Error with a message of one line: what was asked, what is wrong, what is possible; lower case, no final
    dot.
    """

    def __str__(self) -> str:
        """Return one line, with any value of a user in it."""
        return one_line(super().__str__())

    @property
    def whole(self) -> str:
        """The whole message, with its lines, and with escapes for characters that cannot be shown."""
        return printable(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """Return the message alone for IPython; a traceback would show our code instead of the mistake."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(OrchestratorError):
    """A configuration or a command line that cannot be understood."""


_MEANT = {
    **dict.fromkeys(("ddp", "pytorch", "torch"), "torch_ddp"),
    **dict.fromkeys(("keras", "tf"), "tensorflow"),
    **dict.fromkeys(("batch", "batch_size"), "global_batch_size"),
}
"""Other names of what is known, which is meant where another name looks more alike."""


_OWN_WORKLOAD = "your own: workload_path=FOLDER workload=NAME, as docs/tutorials/own_job.md shows; "


class UnknownNameError(ConfigError):
    """A name that does not exist, with the nearest one and all that do.

    Attributes:
        kind: kind of thing that was named.
    """

    def __init__(self, kind: str, name: str, *, known: Iterable[str]) -> None:
        names = sorted(known)
        meant = [other for other in names if other == _MEANT.get(name.lower())]
        nearest = meant or [
            other
            for other in difflib.get_close_matches(name, names, n=_MOST_COMPARED, cutoff=0.5)
            if _shares_letter(name, other)
        ]
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        own = _OWN_WORKLOAD if kind == "workload" else ""
        self.kind = kind
        super().__init__(f"unknown {kind} {name!r}; {hint}{own}known: {', '.join(names) or 'none'}")


def _shares_letter(name: str, other: str) -> bool:
    """Return whether names have more in common than digits: `p100` is no slip of the pen for `v100`."""
    letters = {character for character in name.lower() if character.isalpha()}
    return not letters or not letters.isdisjoint(other.lower())


class PlacementError(OrchestratorError):
    """A request that this machine or cluster can never satisfy."""


class TrialError(OrchestratorError):
    """One trial's failure, raised inside the trial and kept as a `Failure` by its supervisor.

    Args:
        kind: the class of the failure, which decides whether the trial is started again.
        message: the cause in one line.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class RecordError(OrchestratorError):
    """A record that cannot be read or a place that cannot keep one."""
