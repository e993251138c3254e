"""The tunnel to a fork server of another host: a socket here; calls of an actor carry its connections there.

No port is opened: the calls are Ray's, which checks who may make them.
"""

import contextlib
import itertools
import selectors
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_CHUNK_BYTES = 65536

Chunk = tuple[int, bytes]
"""Number of a connection and bytes received from it; empty bytes mean its end."""


class PeerTransport(Protocol):
    """The other end of a tunnel. All calls may come from threads of their own."""

    def send(self, number: int, data: bytes) -> None:
        """Send bytes over a connection, which the first bytes open. Returns before they have arrived."""

    def receive(self) -> Sequence[Chunk]:
        """Wait for bytes of the other end. Raises ConnectionError when that end is gone."""


class SocketForwarder:
    """This end: leaving the context closes what is open.

    Args:
        path: path of the socket to create, in a private folder.
    """

    def __init__(self, path: Path, far: PeerTransport) -> None:
        self._far = far
        self._numbers = itertools.count()
        self._connections: dict[int, socket.socket] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._stop, self._stopped = socket.socketpair()
        self._threads = [threading.Thread(target=loop, daemon=True) for loop in (self._carry, self._return)]

    def __enter__(self) -> "SocketForwarder":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """The far end has to be gone, for one of the threads waits for it."""
        self._stop.close()
        for thread in self._threads:
            thread.join()
        for connection in (*self._connections.values(), self._listener, self._stopped):
            connection.close()

    def _carry(self) -> None:
        """Carry the bytes of this end to the other end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stopped, selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._stopped:
                        return
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    elif not self._send(key.data):
                        selector.unregister(key.fileobj)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        connection, _ = self._listener.accept()
        number = next(self._numbers)
        self._connections[number] = connection
        selector.register(connection, selectors.EVENT_READ, number)

    def _send(self, number: int) -> bool:
        """Send one piece; return whether more may follow."""
        data = _read(self._connections[number])
        self._far.send(number, data)
        return bool(data)

    def _return(self) -> None:
        """Forward data from the other end until it is gone."""
        with contextlib.suppress(ConnectionError):
            while True:
                for number, data in self._far.receive():
                    send_or_end(self._connections[number], data)
        for connection in tuple(self._connections.values()):
            send_or_end(connection, b"")


class ForwarderPeer:
    """The other end, where the fork server is: connections by their numbers.

    Args:
        path: socket of the fork server.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, socket.socket] = {}
        self._lock = threading.Lock()  # guards the open connections
        self._is_closed = False
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)

    def send(self, number: int, data: bytes) -> None:
        """Send, as `PeerTransport.send`."""
        with self._lock:
            if self._is_closed:
                return
            if number not in self._connections:
                self._connect(number)
            connection = self._connections[number]
        send_or_end(connection, data)

    def receive(self) -> Sequence[Chunk]:
        """Receive, as `PeerTransport.receive`."""
        pieces = []
        for key, _ in self._selector.select():
            if key.fileobj is not self._woken:
                pieces.append((key.data, self._read(key.data)))
            elif not self._woken.recv(1):
                self._end()
                raise ConnectionError("this end of the tunnel was closed")
        return pieces

    def close(self) -> None:
        """Make the receiver close all connections."""
        with self._lock:
            self._is_closed = True
            self._wake.close()

    def _connect(self, number: int) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(OSError):  # then its end is read at once
            connection.connect(self._path)
        self._connections[number] = connection
        self._selector.register(connection, selectors.EVENT_READ, number)
        self._wake.send(b"\n")

    def _read(self, number: int) -> bytes:
        chunk = _read(self._connections[number])
        if not chunk:
            self._selector.unregister(self._connections[number])
        return chunk

    def _end(self) -> None:
        self._selector.close()
        for connection in (*self._connections.values(), self._woken):
            connection.close()


def send_or_end(connection: socket.socket, data: bytes) -> None:
    """Send the bytes, or the end of the data; do nothing if the peer is gone."""
    with contextlib.suppress(OSError):
        if data:
            connection.sendall(data)
        else:
            connection.shutdown(socket.SHUT_WR)


def _read(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_CHUNK_BYTES)
    except OSError:
        return b""
