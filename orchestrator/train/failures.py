"""(an exception that ended a trial) -> the class of its failure, and its cause in one line. Pure."""

import errno
import os

from orchestrator.core.errors import FailureKind, TrialError
from workloads.lines import cut_message

_OUT_OF_MEMORY = (
    "out of memory",  # torch on an accelerator; the CUDA driver
    "resource_exhausted",  # XLA's and TensorFlow's status code
    "resourceexhaustederror",  # TensorFlow's exception
    "can't allocate memory",  # torch on a CPU
)

_FAULTS_OF_THE_MACHINE = (
    *(
        os.strerror(number).lower()
        for number in (
            errno.ENOSPC,
            errno.EDQUOT,
            errno.EROFS,
            errno.EIO,
            errno.EADDRINUSE,
            errno.EMFILE,
            errno.ENFILE,
        )
    ),
    "af_unix path too long",
    "can't start new thread",
    "name or service not known",
    "temporary failure in name resolution",
)
"""Words of faults that another run of the same trial need not meet. A connection that is refused, reset or
late is not one of them: it may be what a rank sees when another one has failed."""


def classify_kind(error: BaseException) -> FailureKind:
    """Classify by type where there is one, and by the framework's words where it raises a RuntimeError."""
    if isinstance(error, TrialError):
        return error.kind
    if isinstance(error, ImportError):
        return "environment"
    text = f"{type(error).__name__}: {cut_message(error)}".lower()
    if (
        isinstance(error, MemoryError)
        or isinstance(error.__cause__, MemoryError)
        or any(words in text for words in _OUT_OF_MEMORY)
    ):
        return "oom"
    return _kind_of_text(text)


def kind_of_line(line: str) -> FailureKind:
    """Classify the last words of another program by the same rules, as `torch.OutOfMemoryError: …`."""
    name = line.partition(":")[0].rpartition(".")[2]
    if name in ("ImportError", "ModuleNotFoundError"):
        return "environment"
    is_oom = name == "MemoryError" or any(words in line.lower() for words in _OUT_OF_MEMORY)
    return "oom" if is_oom else _kind_of_text(line.lower())


def _kind_of_text(text: str) -> FailureKind:
    return "environment" if any(words in text for words in _FAULTS_OF_THE_MACHINE) else "error"


def format_cause(error: BaseException) -> str:
    """Return the cause in one line: a message's first line is more specific than the last of its wrappers."""
    first = next((line.strip() for line in cut_message(error).splitlines() if line.strip()), "")
    if isinstance(error, TrialError):
        return first
    return ": ".join(part for part in (type(error).__name__, first) if part)[:500]
