"""An exception of a framework gets the class of failure that a user acts on."""

import errno
import os

import pytest

from orchestrator.core.errors import TrialError
from orchestrator.train.failures import classify_kind, format_cause


class ResourceExhaustedError(Exception):
    """Error with the name of TensorFlow's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TrialError("diverged", "the loss is nan after step 3"), "diverged"),
        (ModuleNotFoundError("No module named 'torch_xla'"), "environment"),
        (MemoryError(), "oom"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), "oom"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), "oom"),
        (RuntimeError("Bad StatusOr access: RESOURCE_EXHAUSTED: Attempting to allocate 9.00G"), "oom"),
        (ResourceExhaustedError("failed to allocate memory"), "oom"),
        (ValueError("negative stride"), "error"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model.pt"), "environment"),
        (RuntimeError("PytorchStreamWriter failed writing file: No space left on device"), "environment"),
        (
            RuntimeError("The server socket has failed to listen: EADDRINUSE, address already in use"),
            "environment",
        ),
        (OSError("AF_UNIX path too long"), "environment"),
        (RuntimeError("can't start new thread"), "environment"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "environment"),
        (ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)), "error"),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "data.csv"), "error"),
    ],
)
def test_an_exception_has_the_kind_of_its_cause(error: Exception, kind: str) -> None:
    assert classify_kind(error) == kind


class BrokenError(BaseException):
    """Cannot be shown."""

    def __str__(self) -> str:
        raise OSError("broken")


def test_an_error_that_cannot_be_shown_has_a_kind_and_a_line() -> None:
    assert classify_kind(BrokenError()) == "error"
    assert format_cause(BrokenError()) == "BrokenError: its __str__ raised OSError"
