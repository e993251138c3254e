"""Output of a process, without its middle where that is long: a pipe, and a thread that reads it."""

import contextlib
import os
from threading import Thread

MOST_BYTES = 2**20
"""So much of the beginning is kept, and so much of the end."""
_LATE_SECONDS = 1.0


class BoundedOutput:
    """A pipe for the output of a process: its first and its last MiB.

    Args:
        copy_to: a descriptor that gets the beginning at once, and the rest at `close`; None: it gets nothing.
    """

    def __init__(self, *, copy_to: int | None = None) -> None:
        self._read, self.descriptor = os.pipe()
        """The process inherits `descriptor`."""
        self._copy_to = copy_to
        self._head = bytearray()
        self._tail = bytearray()
        self._num_left_out = 0
        self._thread = Thread(target=self._drain, daemon=True)

    def start(self) -> None:
        """Close this process' end of the pipe, which others have inherited by now, and read the other end."""
        os.close(self.descriptor)
        self._thread.start()

    def text(self) -> str:
        """Return what was written so far: all of it, unless a process holds the pipe open for a second."""
        self._thread.join(_LATE_SECONDS)
        return (self._head + self._rest()).decode(errors="replace")

    def close(self) -> None:
        """Copy the rest. The processes that wrote have ended."""
        self._thread.join(_LATE_SECONDS)
        if self._copy_to is not None:
            _write(self._copy_to, self._rest())

    def _rest(self) -> bytes:
        excess = max(0, len(self._tail) - MOST_BYTES)
        num_left_out = self._num_left_out + excess
        mark = f"\n… {num_left_out:,} bytes left out …\n".encode() if num_left_out else b""
        return mark + bytes(self._tail[excess:])

    def _drain(self) -> None:
        while piece := os.read(self._read, 2**16):
            room = MOST_BYTES - len(self._head)
            self._head += piece[:room]
            if self._copy_to is not None:
                _write(self._copy_to, piece[:room])
            self._tail += piece[room:]
            if len(self._tail) > 2 * MOST_BYTES:  # rarely, because it moves a MiB
                self._num_left_out += len(self._tail) - MOST_BYTES
                del self._tail[:-MOST_BYTES]
        os.close(self._read)


def _write(descriptor: int, content: bytes) -> None:
    with contextlib.suppress(OSError):  # a full disk; the process must not wait for its reader
        while content:
            content = content[os.write(descriptor, content) :]
