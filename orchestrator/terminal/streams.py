"""Standard streams with errors that end no command: output without a reader is dropped."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_FAILED = 1


class _Lasting(io.FileIO):
    """A descriptor that takes everything. From the first failure on it is the null device, for children too.

    Attributes:
        error: the failure.
    """

    error: OSError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.error = error
            _become_null(self.fileno())
            return memoryview(data).nbytes


def open_lasting_streams() -> _Lasting:
    """Open standard streams anew, so that a command runs to its end even if they fail; return the output.

    A stream that was closed was wanted by no one.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # else the next file that is opened would be taken for that stream
            _become_null(descriptor)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  it lasts as long as the process
    out = _Lasting(1, "w", closefd=False)
    sys.stdout = _read_text(out, like=sys.stdout)
    sys.stderr = _read_text(_Lasting(2, "w", closefd=False), like=sys.stderr)
    return out


def flush_output(out: _Lasting, code: int) -> int:
    """Write what is left of a command's output, and return its exit code.

    A reader that went away has read enough. Output that failed for another reason is reported, and turns
    success into failure.
    """
    sys.stdout.flush()
    if out.error is None or out.error.errno == errno.EPIPE:
        return code
    sys.stderr.write(
        f"error: standard output cannot be written: {out.error.strerror}; all else was done, so say where "
        "there is room, and the same command tells it again\n"
    )
    return code or _FAILED


def _become_null(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.set_inheritable(descriptor, True)
    if null != descriptor:
        os.close(null)


def _read_text(raw: io.FileIO, *, like: TextIO | None) -> io.TextIOWrapper:
    """Open a text stream as Python does for standard streams, buffered by line for readers of a pipe."""
    encoding, errors = (like.encoding, like.errors) if like else ("utf-8", None)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=True)
