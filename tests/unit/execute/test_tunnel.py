"""Socket forwarder: bytes and closed connections pass both ways."""

import contextlib
import socket
import threading
from pathlib import Path

import pytest

from orchestrator.execute.on_ray.tunnel import ForwarderPeer, SocketForwarder

PATIENCE_SECONDS = 10.0


@pytest.fixture
def fork_server(tmp_path):
    """A listener that says everything back in upper case, and `bye` after the end of what it heard."""
    path = tmp_path / "fork_server"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=answer_all, args=(listener,), daemon=True).start()
        yield path


def answer_all(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def answer(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):  # a test may have ended meanwhile
        while said := connection.recv(100):
            connection.sendall(said.upper())
        connection.sendall(b"bye")


@contextlib.contextmanager
def tunnel_to(fork_server: Path, folder: Path):
    """A path that leads there, and the far end, which is in this process too."""
    far = ForwarderPeer(str(fork_server))
    with SocketForwarder(folder / "way", far), contextlib.closing(far):
        yield folder / "way", far


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect(str(path))
    return connection


def heard_to_the_end(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(100), b""))


def test_a_tunnel_carries_messages_both_ways_and_the_end_of_a_connection(fork_server, tmp_path):
    with tunnel_to(fork_server, tmp_path) as (way, _), connected(way) as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"HELLO"
        connection.shutdown(socket.SHUT_WR)
        assert heard_to_the_end(connection) == b"bye"


def test_connections_do_not_receive_data_of_each_other(fork_server, tmp_path):
    with tunnel_to(fork_server, tmp_path) as (way, _), connected(way) as one, connected(way) as other:
        one.sendall(b"one")
        other.sendall(b"other")
        assert (one.recv(100), other.recv(100)) == (b"ONE", b"OTHER")


def test_more_than_a_chunk_arrives_in_order(fork_server, tmp_path):
    said = b"".join(b"%07d " % number for number in range(50_000))
    with tunnel_to(fork_server, tmp_path) as (way, _), connected(way) as connection:
        threading.Thread(target=say_all, args=(connection, said), daemon=True).start()
        assert heard_to_the_end(connection) == said + b"bye"


def say_all(connection: socket.socket, said: bytes) -> None:
    connection.sendall(said)
    connection.shutdown(socket.SHUT_WR)


def test_a_connection_without_a_listener_at_the_far_end_ends_at_once(tmp_path):
    with tunnel_to(tmp_path / "nobody", tmp_path) as (way, _), connected(way) as connection:
        connection.sendall(b"hello")
        assert heard_to_the_end(connection) == b""


def test_when_the_far_end_is_gone_every_connection_ends(fork_server, tmp_path):
    with tunnel_to(fork_server, tmp_path) as (way, far), connected(way) as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"HELLO"
        far.close()
        assert heard_to_the_end(connection) == b""
