"""JSON lines over a local socket, between a supervisor, a fork server and a worker."""

import contextlib
import json
import socket
from typing import Any

Message = dict[str, Any]

MOST_BYTES = 2**28
"""Limit of one object. The report of a long training takes some millions of bytes."""


class ChannelClosedError(ConnectionError):
    """The other end is gone."""


class Channel:
    """One end of a stream socket that carries one JSON object a line."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""

    def fileno(self) -> int:
        """The socket's descriptor, for `poll`."""
        return self._connection.fileno()

    def send(self, message: Message) -> None:
        """Send one object. Raises ChannelClosedError if the peer is gone.

        It starts on a new line, because a fork server writes after a worker that may have died in mid-line.
        """
        try:
            self._connection.sendall(b"\n" + json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self) -> Message:
        """Wait for one object. Raises ChannelClosedError at the end of the stream."""
        while (message := self.take()) is None:
            self.read()
        return message

    def take(self) -> Message | None:
        """Return the next object that has arrived, or None. Skip lines that do not hold a whole object."""
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            with contextlib.suppress(ValueError, RecursionError):
                message: Any = json.loads(line)
                if isinstance(message, dict):
                    return message
        return None

    def read(self) -> None:
        """Wait for some bytes, which `take` decodes. Raises ChannelClosedError at the end."""
        try:
            chunk = self._connection.recv(65536)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        if not chunk:
            raise ChannelClosedError("the other end closed")
        self._buffer += chunk
        if len(self._buffer) > MOST_BYTES:
            raise ChannelClosedError(f"the other end said more than {MOST_BYTES:,} bytes at once")

    def fall_silent(self) -> None:
        """Close the sending direction: the other end reads the end of the stream, and may still answer."""
        with contextlib.suppress(OSError):  # it is gone
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close this end; the other one reads the end of the stream."""
        self._connection.close()
